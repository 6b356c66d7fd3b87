"""A scheduler plug-in of which no plan knows: bounded machines are bought on trial, and nobody else waits.

Source: docs/design.md#refused-placements.
"""

import asyncio

import pytest

from activities.ports.cluster import EVENTS, NODE_POOLS, NODE_REQUESTS
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

MINUTE = 60.0
OBJECTS = [
    node_class(
        [machine("small", cpu=2, memory=4, price="0.010"), machine("big", cpu=4, memory=8, price="0.030")],
    ),
]
SIZE = {"cpu": "1500m", "memory": "1Gi"}


def objects(types=("small", "big"), *, reserve=True):
    timings = {
        "scaleUp": {"recordTTL": "10m", "reserve": reserve},
        "scaleDown": {"idleAfter": "20s", "softGrace": "1s"},
    }
    return [*OBJECTS, node_pool("default", [{"name": name} for name in types], limits={"max": 20}, **timings)]


def refuse(app="web", *types):
    """Return a plug-in that refuses the app on machines of these types, or on all."""

    def plug_in(pod, node):
        labels = node["metadata"]["labels"]
        is_meant = not types or labels.get("growth.dev/server-type") in types
        return "node(s) had no moon" if pod["metadata"]["labels"].get("app") == app and is_meant else None

    return plug_in


class Purchases:
    """Counts the machines that are asked for, by type."""

    def __init__(self, sim):
        self.types = []
        sim.world.cluster.observe(self._note)

    def _note(self, resource, change):
        if resource == NODE_REQUESTS and change.before is None:
            self.types.append(change.now["spec"]["serverType"])


async def begin(sim, plug_in, replicas=1):
    purchases = Purchases(sim)
    sim.world.plug_into_scheduler(plug_in)
    sim.world.workloads.add(Workload("web", replicas, SIZE))
    sim.world.wake()
    return purchases


@pytest.mark.parametrize("reserve", [True, False])
def test_a_class_that_is_refused_everywhere_gets_one_machine_of_each_type_in_doubling_times(reserve):
    async def story(sim):
        purchases = await begin(sim, refuse())
        await asyncio.sleep(9 * MINUTE)
        assert purchases.types == ["small", "big"]
        # Tried again after 10, 20, 40 and 80 min, each time a machine of each type.
        await asyncio.sleep(171 * MINUTE)
        assert purchases.types.count("small") == 5
        assert purchases.types.count("big") == 5
        (pool,) = sim.world.cluster.peek(NODE_POOLS)
        known = pool["status"]["refusedPlacements"]
        assert {entry.get("serverType") for entry in known} == {None, "small", "big"}
        told = [e for e in sim.world.cluster.peek(EVENTS) if e["reason"] == "PlacementRefused"]
        assert any("had no moon" in event["note"] and "default/web-" in event["note"] for event in told)
        sim.world.plug_into_scheduler()
        await sim.until(lambda v: not v.pending(), "the pod is served after the wait", within=200 * MINUTE)

    simulate(1, story, objects=objects(reserve=reserve))


def test_a_type_that_is_let_pass_is_bought_at_once_and_others_are_not_concerned():
    async def story(sim):
        purchases = await begin(sim, refuse("web", "small"), replicas=2)
        await sim.until(lambda v: v.pods and not v.pending(), "both pods are served", within=6 * MINUTE)
        assert sorted(purchases.types) in (["big", "big", "small", "small"], ["big", "small", "small"])
        sim.world.workloads.add(Workload("other", 1, {**SIZE, "cpu": "1600m"}))
        sim.world.wake()
        await asyncio.sleep(2 * MINUTE)
        view = await sim.look()
        assert not [key for key in view.pending() if "other" in key]

    simulate(2, story, objects=objects())


def test_a_node_with_room_that_refuses_a_pod_is_lost_and_a_machine_is_bought():
    async def story(sim):
        sim.world.workloads.add(Workload("busy", 1, {"cpu": "100m", "memory": "100Mi"}))
        sim.world.wake()
        view = await sim.until(lambda v: v.pods and not v.pending(), "a machine is there", within=2 * MINUTE)
        (name,) = view.nodes
        await asyncio.sleep(MINUTE)

        def refuses(pod, node):
            is_meant = pod["metadata"]["labels"].get("app") == "web" and node["metadata"]["name"] == name
            return "node(s) had no moon" if is_meant else None

        purchases = await begin(sim, refuses)
        await asyncio.sleep(110)
        assert purchases.types == []
        # Without a sign of the scheduler it would take ten minutes: nothing else happens in this cluster.
        sim.scale("busy", 2)
        await sim.until(lambda v: not v.pending(), "the pod is served elsewhere", within=5 * MINUTE)
        assert purchases.types == ["big"]

    simulate(3, story, objects=objects(types=("big",)))


def test_a_worker_that_is_killed_again_and_again_learns_the_same():
    async def story(sim):
        purchases = await begin(sim, refuse())
        # After each start, a wait has 2 min at least before it is judged.
        for _ in range(4):
            await asyncio.sleep(140)
            await sim.crash()
            sim.start()
        assert purchases.types == ["small", "big"]

    simulate(4, story, objects=objects())


def test_of_a_scheduler_that_is_down_nothing_is_learned():
    async def story(sim):
        purchases = await begin(sim, refuse())
        await sim.until(lambda v: bool(v.requests), "a machine is asked for", within=MINUTE)
        sim.world.plug_into_scheduler(None)
        sim.world.workloads.add(Workload("unheard", 1, {"cpu": "3", "memory": "1Gi"}))
        sim.world.wake()
        await asyncio.sleep(9 * MINUTE)
        (pool,) = sim.world.cluster.peek(NODE_POOLS)
        assert not [entry for entry in pool["status"]["refusedPlacements"] if entry.get("until")]
        assert "big" not in purchases.types

    simulate(5, story, objects=objects())
