import asyncio

from structlog.testing import capture_logs

from activities.kube.cache import Cache
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import NotFound
from api.keys import GROUP
from planner.model.round import planner_workflow_id
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.world import NAMESPACE, World
from worker.ports import ports_on, utc_now, watched
from worker.runtime import wiring
from worker.runtime.wiring import at_work


async def test_a_worker_on_any_ports_makes_machines_come_and_go(client, cluster_name):
    world = World(now=utc_now, seed=1)
    await world.apply(
        node_class([machine("small", cpu=2, memory=4, price="0.01", boot_time="100ms")]),
        node_pool(
            "default",
            [{"name": "small"}],
            limits={"max": 3},
            scaleUp={"recordTTL": "1s"},
            scaleDown={"idleAfter": "0s", "softGrace": "1s"},
        ),
    )
    cache = Cache(world.cluster, watched())
    ports = ports_on(world.cluster, cache, cluster_name=cluster_name, namespace=NAMESPACE)
    told: list[str] = []
    moving = asyncio.create_task(world.run())
    try:
        async with asyncio.timeout(60), at_work(client, ports, cache, waiting_for=told.append):
            world.workloads.add(Workload("web", 2, {"cpu": "1500m", "memory": "1Gi"}))
            world.wake()
            while not await all_bound(world, 2):
                await asyncio.sleep(0.05)
            assert len((await world.cluster.list(NODES)).items) == 2
            world.workloads.scale_all(0)
            world.wake()
            while (await world.cluster.list(NODES)).items:
                await asyncio.sleep(0.05)
            while (await world.cluster.list(NODE_REMOVAL_REQUESTS)).items:
                await asyncio.sleep(0.05)
            while (await world.cluster.list(NODE_REQUESTS)).items:
                await asyncio.sleep(0.05)
    finally:
        moving.cancel()
    assert told == [
        "the first list of pods, nodes and Growth's kinds",
        "the namespaces of Growth's objects and workflows",
        "",
        "nothing: the worker stops",
    ]
    planner = await client.get_workflow_handle(planner_workflow_id(cluster_name)).describe()
    assert planner.status is not None
    assert planner.status.name == "RUNNING"


async def test_why_the_first_list_does_not_come_is_told_in_one_line(client, monkeypatch):
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.05)
    cluster = Kindless(utc_now)
    cache = Cache(cluster, watched())
    ports = ports_on(cluster, cache, cluster_name="kindless", namespace=NAMESPACE)
    told: list[str] = []

    async def works() -> None:
        async with at_work(client, ports, cache, waiting_for=told.append):
            pass

    with capture_logs() as lines:
        working = asyncio.create_task(works())
        async with asyncio.timeout(20):
            while not any("not installed" in each for each in told):
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
            cluster.has_kinds = True
            await working
    waits = [line["event"] for line in lines if line["event"].startswith("waiting for")]
    assert len(set(waits)) == len(waits)
    assert waits[0].startswith(f"waiting for {wiring.FIRST_LIST}: Growth's kinds are not installed: `growth crds")
    assert f"{wiring.FIRST_LIST}: Growth's kinds are not installed" in told[1]


class Kindless(MemoryCluster):
    """A cluster whose API server knows none of Growth's kinds until they are applied."""

    has_kinds = False

    async def list(self, resource, **selectors):
        if resource.group == GROUP and not self.has_kinds:
            raise NotFound(f"list {resource.plural}: HTTP 404")
        return await super().list(resource, **selectors)


async def all_bound(world: World, count: int) -> bool:
    pods = [one for one in (await world.cluster.list(PODS)).items if one["metadata"]["namespace"] == "default"]
    return len(pods) == count and all(one["spec"].get("nodeName") for one in pods)
