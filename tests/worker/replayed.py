"""A cluster in memory with machines that shall go, its worker on the shared Temporal server, and a person's replay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from temporalio.client import Client

from activities.kube.cache import Cache
from activities.kube.kubeconfig import Access
from activities.ports.cluster import CONFIG_MAPS, NODE_POOLS, NODE_REMOVAL_REQUESTS
from activities.ports.errors import GrowthError, NotFound
from activities.ports.provider import ServerOrder
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import FINALIZER, LABEL_CLUSTER
from planner.lifecycle.kinds import REMOVAL, ObjectId
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class, node_pool
from simulator.world import NAMESPACE
from tests.activities.bodies import definitions
from worker.ports import ports_on, utc_now, watched
from worker.runtime import wiring

STUBBORN = [{"call": "delete", "error": "transient"}]


class Lent(MemoryCluster):
    """A cluster in memory, as a command borrows it; its calls fail where a test says."""

    def __init__(self) -> None:
        super().__init__(utc_now)
        self.access = Access("context here", "here", "shop")
        self.fail: dict[str, GrowthError] = {}
        """Error of a list or get by plural name."""
        self.install_definitions(definitions())

    async def list(self, resource, **selectors):
        if resource.plural in self.fail:
            raise self.fail[resource.plural]
        return await super().list(resource, **selectors)

    async def get(self, resource, name, **options):
        if resource.plural in self.fail:
            raise self.fail[resource.plural]
        return await super().get(resource, name, **options)

    async def close(self) -> None:
        """Nothing is to be closed."""


class Leaving:
    """Machines that shall go, each with a server and a removal."""

    def __init__(self, client: Client, cluster: Lent, name: str) -> None:
        self.client = client
        self.cluster = cluster
        self.name = name
        self.cache = Cache(cluster, watched())
        self.ports = ports_on(cluster, self.cache, cluster_name=name, namespace=NAMESPACE)

    async def fill(self, *, soft_grace: str = "0s") -> None:
        """Put class and pool there; servers are not deleted until a test lets them."""
        removal = {"maxAttempts": 1, "retry": "1s", "parkedRetry": "4h"}
        small = machine("small", cpu=2, memory=4, price="0.01")
        await self.cluster.create(KWOK_NODE_CLASSES, node_class([small], faults=STUBBORN))
        pool = node_pool(
            "default", [{"name": "small"}], limits={"max": 9}, scaleDown={"softGrace": soft_grace, "removal": removal}
        )
        await self.cluster.create(NODE_POOLS, pool)

    async def obey(self) -> None:
        """Let servers be deleted from now on."""
        await self.cluster.patch(KWOK_NODE_CLASSES, "default", [{"op": "remove", "path": "/spec/faults"}])

    async def leave(self, name: str, status: dict[str, Any] | None = None) -> ObjectId:
        """Make a server and an immediate removal of it, which stands where `status` says; return the removal."""
        provider = self.ports.providers["KwokNodeClass"]
        labels = {LABEL_CLUSTER: self.name, "growth.dev/request": name}
        order = ServerOrder(name, "small", "fsn1", labels, {}, ())
        await provider.create(await self.cluster.get(KWOK_NODE_CLASSES, "default"), order)
        body = {
            "apiVersion": NODE_REMOVAL_REQUESTS.api_version,
            "kind": NODE_REMOVAL_REQUESTS.kind,
            "metadata": {"name": name, "finalizers": [FINALIZER]},
            "spec": {
                "serverName": name,
                "nodeName": name,
                "pool": "default",
                "serverType": "small",
                "location": "fsn1",
                "classRef": {"kind": "KwokNodeClass", "name": "default"},
                "immediate": True,
            },
        }
        made = await self.cluster.create(NODE_REMOVAL_REQUESTS, body)
        subject = ObjectId(name=name, uid=made["metadata"]["uid"])
        if status:
            change = [{"op": "add", "path": "/status", "value": status}]
            await self.cluster.patch(NODE_REMOVAL_REQUESTS, name, change, subresource="status")
        return subject

    def parked(self, cluster: str | None = None) -> dict[str, Any]:
        """Return the status of a removal that is parked for hours, and was driven before."""
        return {
            "phase": "CouldNotRemove",
            "reason": "RemovalFailed",
            "retryAt": (utc_now() + timedelta(hours=4)).isoformat().replace("+00:00", "Z"),
            "timesParked": 1,
            "workflowId": f"node-removal:{cluster or self.name}:any:any",
        }

    def handle(self, subject: ObjectId):
        """Return the workflow of a removal."""
        return self.client.get_workflow_handle(REMOVAL.workflow_id(self.name, subject))

    async def removal(self, name: str) -> dict[str, Any] | None:
        """Return the removal, None when it has ended."""
        try:
            return await self.cluster.get(NODE_REMOVAL_REQUESTS, name)
        except NotFound:
            return None

    async def servers(self) -> set[str]:
        """Return the names of the servers that exist."""
        found = (await self.cluster.list(CONFIG_MAPS, namespace=NAMESPACE)).items
        return {item["metadata"]["name"] for item in found if LABEL_CLUSTER in item["metadata"].get("labels", {})}

    async def retries(self, name: str) -> int:
        """Return how often the delete calls of a removal were begun anew."""
        found = await self.removal(name)
        assert found is not None
        return sum(event["name"] == "Retry" for event in found["status"].get("events", ()))

    @asynccontextmanager
    async def worked_on(self) -> AsyncIterator[None]:
        """Run a worker whose keeper looks once, at its start, so that only a person starts what is ended later."""
        async with wiring.at_work(self.client, self.ports, self.cache, keeper_period=timedelta(hours=1)):
            yield
