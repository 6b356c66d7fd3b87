"""HetznerNodeClasses in a cluster in memory, and workers that keep them by the fake API."""

from datetime import timedelta

from activities.ports.cluster import SECRETS
from activities.ports.ports import in_place
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.class_keeper import ClassKeeper
from activities.providers.hetzner.servers.projects import Projects
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import InProcess
from tests.activities.providers.hetzner.yard import CLUSTER, NAMESPACE, START, TOKEN, hetzner_class, secret

CALLS = 6
"""Of a look at a class that names an image alone: three of the catalogue, one of the token, one per architecture."""
LOGGER = "activities.providers.hetzner.class_keeper"


class House:
    """A cluster with classes, and a worker that keeps them."""

    def __init__(self):
        self.now = START
        self.cloud = FakeHetzner(lambda: self.now)
        self.cloud.add_token(TOKEN)
        self.cluster = MemoryCluster(lambda: self.now)
        self.keeper = self.another_worker()

    def another_worker(self):
        projects = Projects(
            self.cluster,
            cluster_name=CLUSTER,
            endpoint="https://api.hetzner.cloud/v1",
            compute=in_place,
            transport=InProcess(self.cloud),
            elapsed=self.elapsed,
        )
        return ClassKeeper(self.cluster, projects, now=lambda: self.now)

    def elapsed(self):
        return (self.now - START).total_seconds()

    async def open(self, *classes, token=TOKEN):
        if token is not None:
            await self.cluster.create(SECRETS, secret(token=token), namespace=NAMESPACE)
        for each in classes or (hetzner_class(),):
            await self.cluster.create(HETZNER_NODE_CLASSES, each)
        return self

    async def node_class(self, name="default"):
        return await self.cluster.get(HETZNER_NODE_CLASSES, name)

    async def told(self, kind="Ready", name="default"):
        status = (await self.node_class(name))["status"]
        return next(each for each in status["conditions"] if each["type"] == kind)

    async def change(self, path, value, *, name="default", subresource=None):
        operation = {"op": "add", "path": path, "value": value}
        await self.cluster.patch(HETZNER_NODE_CLASSES, name, [operation], subresource=subresource)

    async def change_token(self, token):
        data = secret(token=token)["data"]
        await self.cluster.patch(
            SECRETS, "hcloud", [{"op": "replace", "path": "/data", "value": data}], namespace=NAMESPACE
        )

    async def calls_of(self, keeper=None):
        """Return how many calls a pass makes."""
        before = len(self.cloud.requests)
        await (keeper or self.keeper).keep()
        return len(self.cloud.requests) - before

    async def calls_in(self, duration, keeper=None):
        """Return how many calls passes make during a time, each when the one before says so."""
        keeper, before, end = keeper or self.keeper, len(self.cloud.requests), self.now + duration
        while self.now < end:
            rest = await keeper.keep()
            assert 0 < rest <= 10
            self.now += timedelta(seconds=rest)
        return len(self.cloud.requests) - before
