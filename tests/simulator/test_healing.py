"""Sweeps in virtual time: what a person breaks behind Growth's back is found and mended, and nothing else goes."""

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODE_REQUESTS, NODES
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

SMALL = machine("small", cpu=2, memory=4, price="0.010", boot_time="30s")
TIMES = {"scaleUp": {"recordTTL": "10s"}, "scaleDown": {"idleAfter": "1h", "softGrace": "10s"}}
"""Nothing goes because it is idle."""
OBJECTS = (node_class([SMALL]), node_pool("default", [{"name": "small"}], limits={"max": 5}, **TIMES))
GUARD = 600.0
"""Seconds until a server may be called an orphan."""
SWEEPS = 100.0
"""Seconds of two sweeps, and of what they begin."""


def settled(view):
    return len(view.pods) == 1 and not view.pending() and not view.requests


async def one_machine(sim):
    sim.world.workloads.add(Workload("web", 1, {"cpu": "1500m", "memory": "1Gi"}))
    sim.world.wake()
    view = await sim.until(settled, "a machine whose record has gone", within=120)
    (name,) = view.servers
    return name


def test_a_node_deleted_by_hand_costs_its_server_and_the_pod_gets_another_machine():
    async def story(sim):
        first = await one_machine(sim)
        await sim.world.cluster.delete(NODES, first)
        sim.world.wake()
        view = await sim.until(lambda v: settled(v) and first not in v.placement().values(), "another", within=180)
        (name,) = set(view.servers) - {first}
        end = await sim.until(lambda v: set(v.servers) == {name} and not v.removals, "it gone", within=GUARD + SWEEPS)
        assert sim.oracle.judge(end, servers=1) == []
        assert any("sweep: Orphan " + first in line for line in sim.log)

    simulate(11, story, objects=OBJECTS, most_servers=2)


def test_a_server_behind_growths_back_gone_takes_its_node_along():
    async def story(sim):
        first = await one_machine(sim)
        await sim.world.provider.delete(first)
        await stop_kubelet(sim, first)
        end = await sim.until(
            lambda v: len(v.servers) == len(v.nodes) == 1 and first not in v.nodes and settled(v) and not v.removals,
            "its Node gone and the pod on another",
            within=180 + SWEEPS,
        )
        assert sim.oracle.judge(end, servers=1) == []
        assert any("sweep: ServerGone " + first in line for line in sim.log)

    simulate(12, story, objects=OBJECTS, most_servers=2)


async def stop_kubelet(sim, name):
    cluster = sim.world.cluster
    node = await cluster.get(NODES, name)
    await cluster.patch(NODES, name, set_field(node, ("metadata", "annotations", "kwok.x-k8s.io/node"), None))
    # Nobody in this world evicts pods from a Node that is not Ready.
    sim.oracle.excuse(name)
    sim.scale("web", 0)
    await sim.until(lambda v: not v.pods, "no pod", within=30)
    sim.scale("web", 1)


def test_a_request_torn_out_in_flight_leaves_a_machine_that_goes_with_its_node():
    async def story(sim):
        sim.world.workloads.add(Workload("web", 1, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        view = await sim.until(lambda v: len(v.servers) == 1, "a server", within=30)
        (first,) = view.servers
        request = await sim.world.cluster.get(NODE_REQUESTS, first)
        no_finalizer = set_field(request, ("metadata", "finalizers"), None)
        await sim.world.cluster.patch(NODE_REQUESTS, first, no_finalizer)
        await sim.world.cluster.delete(NODE_REQUESTS, first)
        view = await sim.until(lambda v: settled(v) and len(v.servers) == 2, "another machine", within=180)
        assert view.taints("growth.dev/unregistered") == [first]
        end = await sim.until(
            lambda v: len(v.servers) == len(v.nodes) == 1 and not v.removals, "it gone", within=GUARD + SWEEPS + 60
        )
        assert sim.oracle.judge(end, servers=1) == []
        assert any("sweep: OrphanNode " + first in line for line in sim.log)

    simulate(13, story, objects=OBJECTS, most_servers=2)


def test_taints_that_nobody_stands_for_are_lifted():
    async def story(sim):
        name = await one_machine(sim)
        cluster = sim.world.cluster
        node = await cluster.get(NODES, name)
        stale = [
            {"key": "growth.dev/reserved", "value": name, "effect": "NoSchedule"},
            {"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"},
        ]
        await cluster.patch(NODES, name, set_field(node, ("spec", "taints"), stale))
        end = await sim.until(lambda v: not v.nodes[name]["spec"].get("taints"), "both lifted", within=SWEEPS)
        assert sim.oracle.judge(end, servers=1) == []

    simulate(14, story, objects=OBJECTS, most_servers=1)
