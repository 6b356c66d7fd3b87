"""A worker that starts while Growth's kinds are being removed, some gone already and some held by their objects."""

import asyncio

import pytest

from activities.kube.cache import Cache
from activities.ports.cluster import CRDS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import NotFound
from api.keys import FINALIZER, GROUP
from simulator.catalogue import machine, node_class, node_pool
from simulator.world import NAMESPACE, World
from worker.ports import ports_on, utc_now, watched
from worker.runtime import wiring
from worker.runtime.wiring import at_work

REQUEST = {
    "apiVersion": NODE_REQUESTS.api_version,
    "kind": NODE_REQUESTS.kind,
    "metadata": {"name": "m-1", "finalizers": [FINALIZER]},
    "spec": {
        "pool": "default",
        "serverType": "small",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
    },
}


@pytest.fixture
async def world(monkeypatch):
    """A world with a request, and without the kind of removals."""
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.1)
    world = World(now=utc_now, seed=1)
    await world.apply(
        node_class([machine("small", cpu=2, memory=4, price="0.01")]),
        node_pool("default", [{"name": "small"}], limits={"max": 3}),
    )
    await world.cluster.create(NODE_REQUESTS, REQUEST)
    await delete_definition(world, NODE_REMOVAL_REQUESTS)
    return world


async def delete_definition(world, resource):
    await world.cluster.delete(CRDS, f"{resource.plural}.{GROUP}")


async def requests(world):
    try:
        return (await world.cluster.list(NODE_REQUESTS)).items
    except NotFound:
        return []


@pytest.mark.parametrize("is_removed", [True, False], ids=["all-are-removed", "one-is-missing"])
async def test_it_lets_go_what_is_left_and_waits_for_what_only_is_missing(client, cluster_name, world, is_removed):
    if is_removed:
        await delete_definition(world, NODE_REQUESTS)
    cache = Cache(world.cluster, watched())
    ports = ports_on(world.cluster, cache, cluster_name=cluster_name, namespace=NAMESPACE)
    waits = []

    async def works():
        async with at_work(client, ports, cache, waiting_for=waits.append):
            await asyncio.Event().wait()

    working = asyncio.create_task(works())
    try:
        async with asyncio.timeout(30):
            while await requests(world) if is_removed else len(waits) < 3:
                await asyncio.sleep(0.05)
    finally:
        working.cancel()
        await asyncio.wait([working])
    assert await world.provider.list(cluster_name) == []
    if is_removed:
        assert "" in waits
    else:
        assert waits[-1].endswith("installs what is missing")
        assert [one["metadata"]["finalizers"] for one in await requests(world)] == [[FINALIZER]]
