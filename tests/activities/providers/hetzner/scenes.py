"""Scenes of Hetzner: the fake project without a network, classes in a cluster in memory, and time that a test moves."""

import base64
from datetime import UTC, datetime, timedelta

from pydantic import SecretStr

from activities.ports.cluster import SECRETS
from activities.ports.identity import ClusterIdentity
from activities.ports.ports import in_place
from activities.ports.provider import ServerOrder
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ServerCreation
from activities.providers.hetzner.class_keeper import ClassKeeper
from activities.providers.hetzner.classes.catalogue import offerings
from activities.providers.hetzner.classes.check import look_up
from activities.providers.hetzner.provider import HetznerProvider
from activities.providers.hetzner.servers.projects import Projects
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.faults import Fault
from simulator.hetzner.http import InProcess
from tests.builders import hetzner_node_class

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
TOKEN = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01"
READ_ONLY = "r" * 64
ENDPOINT = "https://api.hetzner.cloud/v1"
CLUSTER = "one"
SUBNET = "10.0.1.0/24"
NAMESPACE = "growth-system"
LABELS = {
    "growth.dev/cluster": CLUSTER,
    "growth.dev/pool": "default",
    "growth.dev/request": "default-a1",
    "growth.dev/request-uid": "0f",
}
ORDER = ServerOrder(
    name="default-a1",
    server_type="cx23",
    location="fsn1",
    labels=LABELS,
    node_labels={"growth.dev/pool": "default"},
    node_taints=[{"key": "growth.dev/unregistered", "effect": "NoSchedule"}],
)


def secret(name="hcloud", **values):
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


class Scene:
    """A project with two tokens, one of which may only read, a cluster, and their clock."""

    def __init__(self):
        self.now = START
        self.cloud = FakeHetzner(lambda: self.now)
        self.cloud.add_token(TOKEN)
        self.cloud.add_token(READ_ONLY, "read_only")
        self.cluster = MemoryCluster(lambda: self.now)

    def elapsed(self):
        return (self.now - START).total_seconds()

    def pass_time(self, seconds):
        self.now += timedelta(seconds=seconds)

    def fail(self, verb, kind="error", **how):
        """Let the next call of this verb fail so; return the fault."""
        return self.cloud.faults.append(Fault(verb, kind, **how))

    def client(self, token=TOKEN, *, budget=None, compute=in_place):
        return HetznerClient(
            SecretStr(token),
            endpoint=ENDPOINT,
            budget=budget or CallBudget(burst=500, now=self.elapsed),
            compute=compute,
            transport=InProcess(self.cloud),
        )

    def servers(self):
        return {server.name: server for server in self.cloud.servers_of()}

    async def node_class(self, name="default"):
        return await self.cluster.get(HETZNER_NODE_CLASSES, name)

    async def add_token(self, token, *, name="hcloud"):
        """Make a Secret of the token; return how a class names it."""
        await self.cluster.create(SECRETS, secret(name, token=token), namespace=NAMESPACE)
        return {"namespace": NAMESPACE, "name": name, "key": "token"}

    async def change_token(self, token):
        data = [{"op": "replace", "path": "/data", "value": secret(token=token)["data"]}]
        await self.cluster.patch(SECRETS, "hcloud", data, namespace=NAMESPACE)

    async def add_classes(self, *classes, token=TOKEN):
        """Make these classes, or one called default, and the Secret of their token."""
        if token is not None:
            await self.add_token(token)
        for body in classes or (hetzner_node_class(),):
            await self.cluster.create(HETZNER_NODE_CLASSES, body)

    async def change(self, path, value, *, name="default", subresource=None):
        """Set a field of a class, as a person does."""
        operation = {"op": "add", "path": path, "value": value}
        await self.cluster.patch(HETZNER_NODE_CLASSES, name, [operation], subresource=subresource)


class ClientScene(Scene):
    """A client of the project."""

    def __init__(self):
        super().__init__()
        images = self.cloud.project().images.values()
        self.image = next(image.id for image in images if (image.name, image.architecture) == ("debian-12", "x86"))
        self.api = self.client()

    def creation(self, name="a-1", **changed):
        standard = {
            "name": name,
            "server_type": "cx23",
            "location": "fsn1",
            "image": self.image,
            "labels": {"growth.dev/cluster": "prod"},
            "user_data": "#cloud-config\n",
        }
        return ServerCreation(**standard | changed)

    async def boot(self, name="a-1", **changed):
        """Return the id of a new server that has booted."""
        created = await self.api.create_server(self.creation(name, **changed))
        self.pass_time(60)
        return created.server.id


class ClassScene(Scene):
    """A class that is looked up by the real client, each time beginning with the status of the look before."""

    def __init__(self, **spec):
        super().__init__()
        self.token = TOKEN
        self.use_class(**spec)

    def use_class(self, generation=1, **spec):
        """Go on with a class of this spec; from the second generation on with the status of the one before."""
        body = hetzner_node_class(**spec)
        body["metadata"]["generation"] = generation
        status = {"status": self.looked_up.status} if generation > 1 else {}
        self.looked_up = read(HetznerNodeClass, body).model_copy(update=status)

    async def look(self):
        """Return the status; `calls` is how many calls that took."""
        client = self.client(self.token)
        before = len(self.cloud.requests)
        status = await look_up(client, self.cluster, self.looked_up, now=self.now)
        self.calls = len(self.cloud.requests) - before
        self.looked_up = self.looked_up.model_copy(update={"status": status})
        client.close()
        return status

    def condition(self, kind):
        condition = next(each for each in self.looked_up.status.conditions if each.type == kind)
        assert condition.observed_generation == self.looked_up.metadata.generation
        return condition.status, condition.reason, condition.message

    def offers(self, server_type=None):
        offered = offerings(self.looked_up, self.now)
        return [offering for offering in offered if server_type in (None, offering.server_type)]


class ProviderScene(Scene):
    """A provider; `await ProviderScene().open(...)` makes classes and looks them up."""

    def __init__(self):
        super().__init__()
        self.provider = self.another_worker()

    def another_worker(self, compute=in_place):
        return HetznerProvider(
            self.cluster,
            now=lambda: self.now,
            cluster_name=CLUSTER,
            compute=compute,
            transport=InProcess(self.cloud),
            elapsed=self.elapsed,
        )

    async def open(self, *classes, token=TOKEN):
        await self.add_classes(*classes, token=token)
        await self.provider.tend()
        return self

    async def create(self, order=ORDER, name="default"):
        return await self.provider.create(await self.node_class(name), order)

    async def state(self, name=ORDER.name):
        return (await self.provider.get(name, "default")).state

    async def tend_for(self, seconds, step=4):
        """Let time pass, with a pass of the worker's loop every few seconds."""
        for _ in range(0, int(seconds), step):
            self.pass_time(step)
            await self.provider.tend()

    def power_off(self, name=ORDER.name):
        """Switch a server off, as a person does."""
        self.cloud.handle("POST", f"/servers/{self.servers()[name].id}/actions/poweroff", [], None, TOKEN)


class KeeperScene(Scene):
    """A worker that keeps classes looked up."""

    def __init__(self):
        super().__init__()
        self.keeper = self.another_worker()

    def another_worker(self, classes=None):
        projects = Projects(
            self.cluster,
            identity=ClusterIdentity(CLUSTER),
            endpoint=ENDPOINT,
            compute=in_place,
            transport=InProcess(self.cloud),
            elapsed=self.elapsed,
        )
        return ClassKeeper(self.cluster, projects, now=lambda: self.now, classes=classes)

    async def condition(self, kind="Ready", name="default"):
        status = (await self.node_class(name))["status"]
        return next(each for each in status["conditions"] if each["type"] == kind)

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
            self.pass_time(rest)
        return len(self.cloud.requests) - before
