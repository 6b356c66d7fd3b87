from collections import Counter
from datetime import UTC, datetime, timedelta

from activities.ports.cluster import NODES, PODS
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.scheduler import Scheduler
from tests.builders import node, pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make(seed=0):
    cluster = MemoryCluster(lambda: NOW)
    return cluster, Scheduler(cluster, now=lambda: NOW, seed=seed)


async def add_node(cluster, name, *, cpu="4", taints=()):
    await cluster.create(NODES, node(name, "cx32", allocatable={"cpu": cpu}, taints=list(taints)))


async def add_pod(cluster, name, cpu="1", **spec):
    await cluster.create(PODS, pod(name, cpu, "1Gi", **spec), namespace="default")


async def placement(cluster):
    pods = (await cluster.list(PODS)).items
    return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in pods}


async def scheduled_condition(cluster, name):
    pod = await cluster.get(PODS, name, namespace="default")
    return next((c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled"), None)


async def test_the_emptiest_node_wins():
    cluster, scheduler = make()
    await add_node(cluster, "small", cpu="2")
    await add_node(cluster, "large", cpu="8")
    await add_pod(cluster, "p")
    assert await scheduler.step()
    assert await placement(cluster) == {"p": "large"}
    assert (await scheduled_condition(cluster, "p"))["status"] == "True"


async def test_pods_of_one_step_see_each_other():
    cluster, scheduler = make()
    await add_node(cluster, "a", cpu="2")
    for name in "pqr":
        await add_pod(cluster, name)
    await scheduler.step()
    assert Counter((await placement(cluster)).values()) == {"a": 2, None: 1}


async def test_the_important_pod_goes_first_then_the_name_decides_among_equally_old_ones():
    cluster, scheduler = make()
    await add_node(cluster, "a", cpu="2")
    for name, priority in (("y", 0), ("x", 0), ("vip", 10)):
        await add_pod(cluster, name, priority=priority)
    await scheduler.step()
    assert await placement(cluster) == {"vip": "a", "x": "a", "y": None}


async def test_a_pod_that_fits_nowhere_is_told_why_once():
    cluster, scheduler = make()
    await add_node(cluster, "a", cpu="1")
    await add_node(cluster, "b", cpu="9", taints=[{"key": "k", "effect": "NoSchedule"}])
    await add_pod(cluster, "p", cpu="2")
    assert not await scheduler.step()
    told = await scheduled_condition(cluster, "p")
    assert told["status"] == "False"
    assert told["reason"] == "Unschedulable"
    assert told["message"] == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    version = (await cluster.list(PODS)).resource_version
    await scheduler.step()
    assert (await cluster.list(PODS)).resource_version == version


async def test_a_pod_with_an_unknown_constraint_stays_and_says_so():
    cluster, scheduler = make()
    await add_node(cluster, "a")
    await add_pod(cluster, "p", resourceClaims=[{"name": "gpu"}])
    assert not await scheduler.step()
    assert "spec.resourceClaims" in (await scheduled_condition(cluster, "p"))["message"]


async def test_gated_finished_and_leaving_pods_are_left_alone():
    cluster, scheduler = make()
    await add_node(cluster, "a")
    await add_pod(cluster, "gated", schedulingGates=[{"name": "g"}])
    await add_pod(cluster, "done")
    await cluster.patch(
        PODS,
        "done",
        [{"op": "add", "path": "/status/phase", "value": "Succeeded"}],
        namespace="default",
        subresource="status",
    )
    await add_pod(cluster, "leaving")
    await cluster.patch(
        PODS, "leaving", [{"op": "add", "path": "/metadata/finalizers", "value": ["x/y"]}], namespace="default"
    )
    await cluster.delete(PODS, "leaving", namespace="default")
    assert not await scheduler.step()
    assert set((await placement(cluster)).values()) == {None}


async def test_ties_are_broken_by_the_seed_alone():
    async def run(seed):
        cluster, scheduler = make(seed)
        for number in range(6):
            await add_node(cluster, f"n{number}")
            await add_pod(cluster, f"p{number}")
        await scheduler.step()
        return await placement(cluster)

    assert await run(1) == await run(1)
    assert len({tuple((await run(seed)).values()) for seed in range(5)}) > 1


async def test_a_slow_binding_holds_its_room_and_takes_effect_whatever_has_become_of_the_node():
    moment = NOW
    cluster = MemoryCluster(lambda: moment)
    scheduler = Scheduler(cluster, now=lambda: moment, seed=1, longest_binding=timedelta(seconds=10))
    await add_node(cluster, "a", cpu="1")
    await add_pod(cluster, "first")
    assert await scheduler.step() is False
    due = scheduler.next_binding_at()
    assert due is not None
    assert NOW < due <= NOW + timedelta(seconds=10)
    await add_pod(cluster, "second")
    taint = [{"op": "add", "path": "/spec/taints", "value": [{"key": "k", "effect": "NoSchedule"}]}]
    await cluster.patch(NODES, "a", taint)
    await scheduler.step()
    assert await placement(cluster) == {"first": None, "second": None}
    moment = due
    assert await scheduler.step() is True
    assert await placement(cluster) == {"first": "a", "second": None}
    assert scheduler.next_binding_at() is None


async def test_a_pod_that_is_gone_before_its_binding_is_forgotten():
    moment = NOW
    cluster = MemoryCluster(lambda: moment)
    scheduler = Scheduler(cluster, now=lambda: moment, seed=1, longest_binding=timedelta(seconds=10))
    await add_node(cluster, "a", cpu="1")
    await add_pod(cluster, "p")
    await scheduler.step()
    await cluster.delete(PODS, "p", namespace="default")
    await add_pod(cluster, "p")
    moment = NOW + timedelta(seconds=11)
    await scheduler.step()
    # The new pod of that name waits for a binding of its own.
    assert await placement(cluster) == {"p": None}
    moment = NOW + timedelta(seconds=22)
    await scheduler.step()
    assert await placement(cluster) == {"p": "a"}
