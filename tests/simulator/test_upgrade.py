"""An upgrade while machines come and go: servers of the earlier version are marked, used, and removed in the end."""

import asyncio
from dataclasses import replace

import pytest

from activities.ports.cluster import NODE_REQUESTS
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate
from simulator.world import CLUSTER_NAME, CLUSTER_UID

UID = "growth.dev/cluster-uid"
SMALL = machine("small", cpu=2, memory=4, price="0.010", locations=["fsn1"], boot_time="20s")
POOL = node_pool(
    "default",
    [{"name": "small"}],
    limits={"max": 8},
    scaleUp={"recordTTL": "30s"},
    scaleDown={"idleAfter": "20s", "softGrace": "15s"},
)


async def marks(sim):
    return {server.name: server.labels.get(UID) for server in await sim.world.provider.list(CLUSTER_NAME)}


@pytest.mark.parametrize("seconds", [0.3, 8.0, 22.0, 60.0])
def test_lifecycles_that_are_under_way_go_on_and_no_server_is_bought_twice_or_left(seconds):
    """Asked for, booting, joined, and with their requests' records gone."""

    async def story(sim):
        sim.equip = lambda ports: replace(ports, cluster_uid="")
        sim.start()
        sim.world.workloads.add(Workload("web", 3, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await asyncio.sleep(seconds)
        sim.equip = lambda ports: ports
        await sim.crash()
        early = await marks(sim)
        assert set(early.values()) <= {None}
        sim.start()
        await sim.until(lambda view: view.pods and not view.pending(), "all pods are served", within=120)
        await asyncio.sleep(90)
        assert set((await marks(sim)).values()) == {CLUSTER_UID}
        assert set(early) <= set(await marks(sim))
        assert len(await marks(sim)) == 3
        await sim.until(lambda view: not view.requests, "records are over", within=300)
        sim.scale("web", 0)
        await asyncio.sleep(300)
        assert await marks(sim) == {}

    simulate(1, story, objects=[node_class([SMALL]), POOL], most_servers=3, has_worker=False)


def test_a_removal_under_way_ends_with_its_server():
    async def story(sim):
        sim.equip = lambda ports: replace(ports, cluster_uid="")
        sim.start()
        sim.world.workloads.add(Workload("web", 2, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda view: view.pods and not view.pending(), "all pods are served", within=120)
        sim.scale("web", 0)
        await sim.until(lambda view: len(view.removals) == 2, "both go", within=120)
        sim.equip = lambda ports: ports
        await sim.crash()
        sim.start()
        await sim.until(lambda view: not view.removals and not view.nodes, "both are gone", within=120)
        assert await marks(sim) == {}
        assert sim.world.cluster.peek(NODE_REQUESTS) == []

    simulate(2, story, objects=[node_class([SMALL]), POOL], most_servers=2, has_worker=False)
