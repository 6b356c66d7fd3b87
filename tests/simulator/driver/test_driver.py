"""Whole lives in virtual time: pods come and go, machines with them, and the oracle finds nothing wrong."""

import asyncio

import pytest

from activities.ports.cluster import NODE_REQUESTS
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import TAINT_SCALE_DOWN
from planner.lifecycle.step import Decision, DecisionKind
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import NeverSeen, simulate

SCALE_UP = {
    "provisioningTimeout": "30s",
    "joinTimeout": "30s",
    "unavailableTTL": "20s",
    "recordTTL": "30s",
}
SCALE_DOWN = {
    "idleAfter": "10s",
    "softGrace": "10s",
    "removal": {"maxAttempts": 3, "retry": "5s", "parkedRetry": "1m"},
}
SMALL = machine("small", cpu=2, memory=4, price="0.010")
BIG = machine("big", cpu=8, memory=16, price="0.030")


def pool(*, least=0, **types):
    server_types = [{"name": name} | more for name, more in (types or {"small": {}, "big": {}}).items()]
    return node_pool("default", server_types, limits={"min": least, "max": 10}, scaleUp=SCALE_UP, scaleDown=SCALE_DOWN)


def all_bound(count):
    return lambda view: len(view.pods) == count and not view.pending()


def quiet(servers):
    def holds(view):
        return len(view.servers) == len(view.nodes) == servers and not view.removals and not view.pending()

    return holds


def sold_out(name, *, cpu, memory, price):
    """A type that the catalogue shows as available and the provider refuses."""
    return machine(name, cpu=cpu, memory=memory, price=price, locations=[{"name": "fsn1", "stock": 0}])


def apart(app):
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_a_burst_is_placed_as_planned_and_the_machines_go_with_the_load():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 8, {"cpu": "900m", "memory": "1Gi"}))
        sim.world.workloads.add(Workload("db", 2, {"cpu": "3", "memory": "6Gi"}, spec=apart("db")))
        sim.world.wake()
        view = await sim.until(all_bound(10), "all pods bound", within=60)
        planned = sim.oracle.planned
        assert {p["metadata"]["uid"]: p["spec"]["nodeName"] for p in view.pods.values()} == planned
        assert len(set(view.placement().values())) == len(view.servers)
        sim.world.workloads.scale_all(0)
        sim.world.wake()
        end = await sim.until(quiet(1), "one machine left", within=180)
        assert sim.oracle.judge(end, servers=1) == []

    simulate(1, story, objects=[node_class([SMALL, BIG]), pool(least=1)], most_servers=10)


def test_an_offering_without_capacity_is_left_for_another():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        view = await sim.until(all_bound(1), "the pod bound", within=60)
        assert [s.server_type for s in view.servers.values()] == ["big"]
        assert any("mark_unmet" in line or "Unmet" in line for line in sim.log)
        end = await sim.until(lambda v: len(v.requests) == 0, "no record left", within=180)
        assert sim.oracle.judge(end, servers=1) == []

    cheap = sold_out("small", cpu=2, memory=4, price="0.010")
    simulate(2, story, objects=[node_class([cheap, BIG]), pool()], most_servers=2)


def test_a_server_that_never_boots_is_handed_over_and_gone():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        first = await sim.until(lambda v: len(v.servers) == 1, "a server", within=30)
        await sim.until(lambda v: len(v.removals) == 1, "the hand-over", within=60)
        sim.scale("web", 0)
        end = await sim.until(quiet(0), "nothing left", within=240)
        await sim.until(lambda v: not v.requests, "no request left", within=60)
        assert sim.oracle.judge(end, servers=0) == []
        assert set(first.servers) <= set(sim.oracle.bought)

    faulty = node_class([SMALL], faults=[{"call": "boot"}])
    simulate(3, story, objects=[faulty, pool(small={})], most_servers=10)


def test_a_refused_deletion_is_parked_and_tried_again_by_itself():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(all_bound(1), "the pod bound", within=60)
        sim.scale("web", 0)
        await sim.until(
            lambda v: "CouldNotRemove" in [p for n, p in v.phases().items() if n.startswith("NodeRemoval")],
            "CouldNotRemove",
            within=120,
        )
        end = await sim.until(quiet(0), "the server gone", within=120)
        assert sim.oracle.judge(end, servers=0) == []

    stubborn = node_class([SMALL], faults=[{"call": "delete", "times": 4}])
    simulate(4, story, objects=[stubborn, pool(small={})], most_servers=1)


def test_a_person_tries_a_parked_deletion_again():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(all_bound(1), "the pod bound", within=60)
        sim.scale("web", 0)
        parked = await sim.until(lambda v: "CouldNotRemove" in v.phases().values(), "CouldNotRemove", within=120)
        (name,) = parked.removals
        sim.ask(name, Decision(kind=DecisionKind.RETRY, by="ann"))
        end = await sim.until(quiet(0), "the server gone", within=30)
        assert sim.oracle.judge(end, servers=0) == []

    stubborn = node_class([SMALL], faults=[{"call": "delete", "times": 4}])
    simulate(5, story, objects=[stubborn, pool(small={})], most_servers=1)


def test_a_request_deleted_in_flight_leaves_no_server_and_its_pods_get_another():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        view = await sim.until(lambda v: len(v.servers) == 1, "a server", within=30)
        (name,) = view.requests
        await sim.world.cluster.delete(NODE_REQUESTS, name)
        view = await sim.until(all_bound(1), "the pod bound", within=60)
        assert name not in view.placement().values()
        end = await sim.until(quiet(1), "one server left", within=120)
        assert sim.oracle.judge(end, servers=1) == []
        assert name in sim.oracle.bought

    slow = machine("small", cpu=2, memory=4, price="0.010", boot_time="10s")
    simulate(6, story, objects=[node_class([slow]), pool(small={})], most_servers=2)


def test_returning_demand_cancels_the_removal_and_buys_nothing():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(all_bound(1), "the pod bound", within=60)
        sim.scale("web", 0)
        await sim.until(lambda v: v.taints(TAINT_SCALE_DOWN), "the cool-off", within=60)
        sim.scale("web", 1)
        await sim.until(all_bound(1), "the pod bound again", within=30)
        end = await sim.until(quiet(1), "no removal left", within=60)
        assert sim.oracle.judge(end, servers=1) == []
        assert len(sim.oracle.bought) == 1

    simulate(7, story, objects=[node_class([SMALL]), pool(small={})], most_servers=1)


def test_a_class_that_gets_better_ends_a_pause():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda v: "Unmet" in v.phases().values(), "Unmet", within=30)
        stock = [{"op": "replace", "path": "/spec/serverTypes/0/locations/0/stock", "value": 5}]
        await sim.world.cluster.patch(KWOK_NODE_CLASSES, "default", stock)
        await sim.until(all_bound(1), "the pod bound", within=120)

    only = sold_out("small", cpu=2, memory=4, price="0.010")
    simulate(8, story, objects=[node_class([only]), pool(small={})], most_servers=1)


def test_a_story_that_waits_in_vain_says_what_was_seen():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "99", "memory": "1Gi"}))
        sim.world.wake()
        await asyncio.sleep(1)
        with pytest.raises(NeverSeen) as seen:
            await sim.until(all_bound(1), "the pod bound", within=5)
        assert "seed 9: not seen within 5 s: the pod bound" in str(seen.value)
        assert "default/web-00001" in str(seen.value)

    simulate(9, story, objects=[node_class([SMALL]), pool(small={})])
