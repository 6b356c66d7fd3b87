"""Whole rounds with the real planner: from pods to objects, cut off at every write, and at size."""

import logging
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import (
    CAPACITY_BUFFERS,
    EVENTS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
    PROVISIONING_REQUESTS,
)
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.round.observe import SURROUNDINGS
from api.keys import ANNOTATION_IDLE_SINCE, FINALIZER
from planner.model.plan import PlanResult
from tests.activities.bodies import pod, pool, removal, request
from tests.activities.rounds import Crash, World

pytestmark = pytest.mark.timeout(300)


async def seats(world):
    """Return how many seats each pod has in requests that are not being deleted."""
    return Counter(
        seat["name"]
        for item in await world.items(NODE_REQUESTS)
        if "deletionTimestamp" not in item["metadata"]
        for seat in item["spec"].get("reservedFor", ())
    )


async def test_pods_become_the_cheapest_requests_each_pod_with_one_seat(world):
    # 4 CPU in all: one cx32 (4 CPU, 0.0106) is cheaper than two cx22 (0.0132).
    await world.add_pods(4, cpu="1", memory="1Gi")
    result = await world.run()
    assert result.result is PlanResult.ALL_PLACED
    [made] = await world.items(NODE_REQUESTS)
    assert made["spec"]["serverType"] == "cx32"
    assert await seats(world) == {f"web-{n}": 1 for n in range(4)}
    assert result.summary.startswith("AllPlaced, 1 machine to come for 0.0106 EUR/h")
    [default] = await world.items(NODE_POOLS)
    assert default["status"]["nodes"]["total"] >= 0


async def test_a_second_round_buys_nothing_more(world):
    await world.add_pods(30)
    await world.run()
    first = await world.items(NODE_REQUESTS)
    for _ in range(3):
        await world.run()
    assert await world.items(NODE_REQUESTS) == first


async def test_rounds_on_a_cache_that_stands_still_buy_and_remove_once(world):
    await world.add_pods(5, cpu="3")
    await world.add_node("default-ripe", cpu="1", annotations={ANNOTATION_IDLE_SINCE: "2026-11-01T08:00:00Z"})
    read = (*SURROUNDINGS, NODE_POOLS, KWOK_NODE_CLASSES, PROVISIONING_REQUESTS)
    frozen = {r: await world.cluster.list(r) for r in (*read, *CAPACITY_BUFFERS)}

    class Frozen:
        async def list(self, resource):
            return frozen[resource]

    # Since the cache was filled the node has changed, as by its kubelet.
    await world.cluster.put(NODES, "default-ripe", "/metadata/labels/a", "b")
    world.ports = replace(world.ports, reader=Frozen())
    for _ in range(3):
        result = await world.run()
        world.pass_time(timedelta(seconds=5))
    assert max((await seats(world)).values()) == 1
    assert len(await seats(world)) == 5
    assert await world.names(NODE_REMOVAL_REQUESTS) == ["default-ripe"]
    [default] = await world.items(NODE_POOLS)
    assert default["metadata"]["finalizers"] == [FINALIZER]
    assert "refused" not in result.summary


async def test_unreadable_objects_among_good_ones_are_told_and_stop_nothing(world):
    await world.add_pods(2)
    await world.cluster.create(PODS, pod("broken-0", cpu="lots"), namespace="shop")
    await world.cluster.create(NODE_POOLS, pool("odd", serverTypes=[{"name": "cx22", "max": "many"}]))
    result = await world.run()
    assert await seats(world) == {"web-0": 1, "web-1": 1}
    assert "2 objects that cannot be read" in result.summary
    notes = {(e["regarding"]["kind"], e["regarding"]["name"]): e["note"] for e in await world.items(EVENTS)}
    assert "'lots' is not a quantity" in notes["Pod", "broken-0"]
    assert "must be a whole number, not 'many'" in notes["NodePool", "odd"]


async def a_busy_cluster():
    """Make every kind of write due: demand, an unneeded request, an heir of a seat, an idle node, a cool-off to end."""
    world = World()
    await world.install(pools=("default", "quiet", "back"))
    await world.add_pods(7, cpu="3", memory="2Gi")
    await world.add_pods(2, cpu="1", memory="1Gi", prefix="heir")
    await world.run()
    uids = {item["metadata"]["name"]: item["metadata"]["uid"] for item in await world.items(NODE_POOLS)}
    owner = {"apiVersion": NODE_POOLS.api_version, "kind": "NodePool", "name": "quiet", "uid": uids["quiet"]}
    unneeded = request("quiet-unneeded", pool_name="quiet", ownerReferences=[owner])
    await world.cluster.create(NODE_REQUESTS, unneeded)
    for name in await world.names(NODE_REQUESTS):
        await world.set_status(NODE_REQUESTS, name, phase="Pending", workflowId="w")
    # One pod goes without a successor, one is replaced, three more come.
    await world.cluster.delete(PODS, "web-0", namespace="shop")
    await world.cluster.delete(PODS, "heir-0", namespace="shop")
    await world.add_pods(1, cpu="1", memory="1Gi", prefix="successor", owner="heir")
    await world.add_pods(3, cpu="15", memory="8Gi", prefix="big")
    await world.add_node("quiet-idle", pool="quiet")
    await world.add_node("quiet-ripe", pool="quiet", annotations={ANNOTATION_IDLE_SINCE: "2026-11-01T08:00:00Z"})
    await world.add_node("back-cooling", pool="back")
    await world.cluster.create(
        NODE_REMOVAL_REQUESTS, removal("back-cooling", pool_name="back", nodeName="back-cooling")
    )
    await world.set_status(NODE_REMOVAL_REQUESTS, "back-cooling", phase="Pending", workflowId="w")
    await world.add_pods(1, cpu="1", memory="1Gi", prefix="back", nodeSelector={"growth.dev/pool": "back"})
    world.cluster.writes.clear()
    return world


async def outcome(world):
    """Return what a cluster has come to, without names that hold the number of a round."""
    requests = await world.items(NODE_REQUESTS)
    removals = await world.items(NODE_REMOVAL_REQUESTS)
    nodes, pools = await world.items(NODES), await world.items(NODE_POOLS)
    return {
        "requests": Counter(
            (
                item["spec"]["pool"],
                item["spec"]["serverType"],
                tuple(sorted(seat["name"] for seat in item["spec"].get("reservedFor", ()))),
                "deletionTimestamp" in item["metadata"],
            )
            for item in requests
        ),
        "removals": {item["metadata"]["name"]: "cancel" in item.get("status", {}) for item in removals},
        # Which nodes are marked idle; the time of the mark is that of the round.
        "idle": {item["metadata"]["name"]: set(item["metadata"].get("annotations", ())) for item in nodes},
        "pools": {item["metadata"]["name"]: item.get("status", {}).get("nodes") for item in pools},
    }


async def settle(world):
    """Run rounds as the planner workflow does, each by a worker that knows nothing of the earlier ones.

    The last one sees what the others wrote: a pool's status is as old as the round's first look.
    """
    for _ in range(4):
        result = await world.run()
        if not result.is_partial:
            await world.run()
            return
    pytest.fail("rounds stay partial")


async def test_the_busy_cluster_has_every_kind_of_write():
    world = await a_busy_cluster()
    await settle(world)
    kinds = {write.split("/")[0] for write in world.cluster.writes}
    assert kinds >= {
        "patch leases",
        "patch noderemovalrequests",
        "delete noderequests",
        "patch noderequests",
        "create noderequests",
        "create noderemovalrequests",
        "patch nodes",
        "patch nodepools",
        "create events",
    }


@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
async def test_a_crash_at_any_write_leaves_nothing_lost_and_nothing_doubled(when):
    whole = await a_busy_cluster()
    await settle(whole)
    expected = await outcome(whole)
    writes = len(whole.cluster.writes)
    assert writes > 15
    for number in range(1, writes + 1):
        world = await a_busy_cluster()
        setattr(world.cluster, when, number)
        with pytest.raises(Crash):
            await settle(world)
        world.cluster.crash_at = world.cluster.crash_after = None
        held = await seats(world)
        assert max(held.values()) == 1, f"{when} {number}: a pod has two seats: {held}"
        await settle(world)
        assert await outcome(world) == expected, f"{when} {number}: {world.cluster.writes[number - 1]}"


async def test_two_thousand_pods_in_memory_are_planned_and_unchanged_ones_are_quick(world, caplog):
    await world.add_pods(1000, cpu="500m", memory="1Gi", prefix="small")
    await world.add_pods(1000, cpu="1500m", memory="2Gi", prefix="large")
    activities = world.activities()
    started = time.process_time()
    first = await world.run(activities)
    bought = time.process_time() - started
    for _ in range(3):
        await world.run(activities)
    started = time.process_time()
    await world.run(activities)
    again = time.process_time() - started
    logging.getLogger(__name__).warning("2,000 pods: first round %.2f s, unchanged round %.2f s", bought, again)
    held = await seats(world)
    assert len(held) == 2000
    assert set(held.values()) == {1}
    # 2,000 CPU need at least 125 machines of 16 CPU.
    assert len(await world.items(NODE_REQUESTS)) >= 125
    assert len(first.requests) <= 100
    # Seconds of a core: 0.5 and 0.1 are measured.
    assert bought < 4
    assert again < 0.8
