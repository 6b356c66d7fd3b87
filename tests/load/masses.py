"""Thousands of objects, made and deleted through the API as quickly as it takes them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from activities.kube.client import KubeCluster
from activities.ports.cluster import Object, Resource
from simulator.catalogue import machine
from tests import builders
from tests.builders import as_sent, kwok_node_class
from tests.e2e.harness import ControlPlane
from tests.e2e.workloads import NAMESPACE

DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
AT_ONCE: Final = 16
"""Calls at the same time: more of them only wait in the API server on two cores."""
_CALL_SECONDS: Final = 60.0
"""A test waits where a worker would not: an API server under load may take its time."""

T = TypeVar("T")


@asynccontextmanager
async def connected(plane: ControlPlane) -> AsyncIterator[KubeCluster]:
    """Lend a patient connection of the test itself."""
    cluster = await KubeCluster.connect(str(plane.kubeconfig), timeout_seconds=_CALL_SECONDS)
    try:
        yield cluster
    finally:
        await cluster.close()


async def each(items: Iterable[T], call: Callable[[T], Awaitable[object]]) -> None:
    """Make one call for each item, many at the same time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(item: T) -> None:
        async with gate:
            await call(item)

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(one(item))


async def create(cluster: KubeCluster, resource: Resource, bodies: Iterable[Object]) -> None:
    """Create the objects."""
    await each(bodies, lambda body: cluster.create(resource, body))


async def scale(cluster: KubeCluster, name: str, replicas: int) -> None:
    """Let a Deployment have so many pods; those that go are gone at once, for their grace is zero."""
    wanted = {"op": "add", "path": "/spec/replicas", "value": replicas}
    await cluster.patch(DEPLOYMENTS, name, [wanted], namespace=NAMESPACE)


def deployment(name: str, pool: str, replicas: int, cpu: str, memory: str) -> dict[str, Any]:
    """Return a Deployment of pods for a pool: a pod that goes for whatever reason is followed by another."""
    return builders.deployment(name, replicas, cpu, memory, nodeSelector={"growth.dev/pool": pool})


def pool(name: str, *server_types: str, most: int, idle_after: str, soft_grace: str) -> dict[str, Any]:
    """Return a pool of the class `load`."""
    made = builders.node_pool(
        name,
        server_types,
        limits={"max": most},
        template={"classRef": {"kind": "KwokNodeClass", "name": "load"}},
        # On two cores hundreds of machines take longer than the records that the end is checked by would stay.
        scaleUp={"recordTTL": "2h"},
        scaleDown={"idleAfter": idle_after, "softGrace": soft_grace},
    )
    return as_sent(made)


def server_type(name: str, cpu: int, memory_gib: int, price: str, boot_time: str) -> dict[str, Any]:
    """Return a server type whose machines keep 100m of cpu and 256Mi of memory for themselves."""
    overhead = {"cpu": "100m", "memory": "256Mi"}
    return machine(name, cpu=cpu, memory=memory_gib, price=price, boot_time=boot_time, overhead=overhead)


def node_class(*server_types: dict[str, Any]) -> dict[str, Any]:
    """Return the class `load`."""
    return as_sent(kwok_node_class(*server_types, name="load", currency="EUR"))
