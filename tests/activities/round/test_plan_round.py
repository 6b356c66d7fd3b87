"""One round: what is written, in which order, and what happens when a part of it fails."""

import itertools
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from activities.ports.cluster import EVENTS, LEASES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.ports import ReadyPackers
from api.keys import ANNOTATION_IDLE_SINCE, ANNOTATION_PODS_SINCE, FINALIZER
from api.v1alpha1.node_pool import NodePoolStatus, PoolCounts
from api.v1alpha1.node_request import Seat
from planner.model.plan import (
    Alternative,
    Because,
    Plan,
    PlannedEvent,
    PlannerMemory,
    PlanResult,
    PoolReport,
    RemovalCancel,
    Unplaced,
)
from planner.packing.fallback.pack import pack
from tests.activities.bodies import removal, request
from tests.activities.rounds import World, begun, bought, buying, nothing
from tests.tables import rows


async def test_a_planned_machine_becomes_a_request_that_holds_all_of_it(world):
    result = await world.carry_out(buying(1))
    [made] = await world.items(NODE_REQUESTS)
    metadata = made["metadata"]
    # Pool, dash, hash: a DNS label of at most 63 characters. Source: docs/design.md#fence.
    assert re.fullmatch(r"default-[0-9a-f]{10}", metadata["name"])
    assert metadata["labels"] == {"growth.dev/pool": "default", "growth.dev/server-type": "cx22"}
    assert metadata["finalizers"] == [FINALIZER]
    # As docs/design.md#keys says, with an ownerReference to the pool, as in the seed (blockOwnerDeletion: false).
    pool = {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "name": "default", "uid": "pool-uid"}
    assert metadata["ownerReferences"] == [pool | {"blockOwnerDeletion": False}]
    assert made["spec"] == {
        "pool": "default",
        "serverType": "cx22",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reservedFor": [{"namespace": "shop", "name": "web-0", "uid": "u-0", "owner": "rs", "class": "k"}],
    }
    assert [(request.name, request.uid) for request in result.requests] == [(metadata["name"], metadata["uid"])]
    assert result.summary == "AllPlaced, 1 machine to come for 0.0066 EUR/h"
    assert result.is_open
    assert not result.is_partial


async def test_a_round_packs_with_the_packer_of_its_ports():
    asked = []

    def packer(problem):
        asked.append(sum(group.count for group in problem.groups))
        return pack(problem)

    world = World(packers=ReadyPackers(lambda: packer))
    await world.install()
    await world.add_pods(3)
    await world.run()
    assert asked == [3]
    assert await world.names(NODE_REQUESTS)


async def test_the_longest_pool_name_makes_a_valid_request_name(world):
    await world.carry_out(nothing(requests=(bought(pool="p" * 40),)))
    [name] = await world.names(NODE_REQUESTS)
    assert len(name) == 51


async def test_names_differ_by_run_round_and_ordinal_and_by_nothing_else(world):
    await world.carry_out(buying(2))
    await world.carry_out(buying(2))
    assert len(await world.names(NODE_REQUESTS)) == 4
    # The same round once more, as when its first execution was believed dead.
    world.round -= 1
    await world.carry_out(buying(2))
    assert len(await world.names(NODE_REQUESTS)) == 4


async def test_where_the_pool_does_not_reserve_the_request_has_no_seats(world):
    await world.carry_out(nothing(requests=(bought(reserve=False),)))
    [made] = await world.items(NODE_REQUESTS)
    assert "reservedFor" not in made["spec"] or made["spec"]["reservedFor"] == []


async def test_events_tell_of_the_machine_on_its_request_and_on_its_pods(world):
    event = PlannedEvent(kind="NodePool", name="default", namespace=None, uid="p", reason="AtMax", message="full")
    await world.carry_out(replace(buying(1), events=(event,)))
    events = {(e["regarding"]["kind"], e["reason"]): e for e in await world.items(EVENTS)}
    assert set(events) == {("NodeRequest", "Requested"), ("Pod", "MachineRequested"), ("NodePool", "AtMax")}
    requested = events["NodeRequest", "Requested"]["note"]
    assert requested == "cx22 in fsn1 at 0.0066 EUR/h. Cheapest machine for 1 pod (shop/web-0)"
    assert events["Pod", "MachineRequested"]["regarding"]["uid"] == "u-0"
    [name] = await world.names(NODE_REQUESTS)
    assert events["Pod", "MachineRequested"]["note"] == (
        f"Machine {name} of pool default is to take this pod: cx22 in fsn1 at 0.0066 EUR/h"
    )


async def test_a_pod_is_told_of_the_machine_that_comes_in_place_of_one_that_never_came(world):
    activities = world.activities(planner=lambda _: buying(1))
    for _ in range(2):
        await world.run(activities)
    notes = [e["note"] for e in await world.items(EVENTS) if e["reason"] == "MachineRequested"]
    names = await world.names(NODE_REQUESTS)
    assert len(names) == 2
    assert sorted(note.split()[1] for note in notes) == sorted(names)


async def test_events_name_the_runner_up_and_its_price(world):
    other = Alternative("cx32", "nbg1", "default", Decimal("0.0106"))
    await world.carry_out(nothing(requests=(bought(because=Because(runner_up=other)),), currency="EUR"))
    [note] = [e["note"] for e in await world.items(EVENTS) if e["reason"] == "MachineRequested"]
    assert note.endswith(": cx22 in fsn1 at 0.0066 EUR/h; next: cx32 in nbg1 for 0.0106")


async def test_a_round_tells_how_long_its_stages_took(caplog):
    stages = []
    ticks = itertools.count()
    world = World(elapsed=lambda: float(next(ticks)), tell_stages=stages.append)
    await world.install()
    await world.add_pods(1)
    caplog.set_level("INFO", logger="activities.round.plan_round")
    await world.run()
    [seconds] = stages
    # The clock goes on by a second at each look: `check` has one before, between and after the two within it.
    assert seconds == {"read": 1, "assemble": 2, "pack": 1, "check": 3, "decide": 2}
    [line] = [r.getMessage() for r in caplog.records if "planned in" in r.getMessage()]
    assert line.startswith(
        "round 1: AllPlaced, 1 machine for 0.0066 EUR/h, at least 0.0066, planned in 9.000 s: read 1.000"
    )
    caplog.clear()
    await world.run()
    assert not [r for r in caplog.records if "planned in" in r.getMessage()]


async def test_an_idle_machine_gets_a_removal_named_after_its_server_and_an_existing_one_is_fine(world):
    for _ in range(2):
        result = await world.carry_out(nothing(removals=(begun("default-a"),)))
    [made] = await world.items(NODE_REMOVAL_REQUESTS)
    assert made["metadata"]["name"] == "default-a"
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert made["spec"]["providerID"] == "kwok://default-a"
    assert made["spec"]["reason"] == "Empty"
    assert result.is_open


async def test_a_cool_off_is_cancelled_with_the_pods_that_want_the_node(world):
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-a"))
    pods = tuple(f"shop/web-{n}" for n in range(7))
    await world.carry_out(nothing(removal_cancels=(RemovalCancel("default-a", pods),)))
    [made] = await world.items(NODE_REMOVAL_REQUESTS)
    assert made["status"]["cancel"] == {
        "at": "2026-11-01T12:00:00Z",
        "by": "Planner",
        "reason": "Wanted again by shop/web-0, shop/web-1, shop/web-2, shop/web-3, shop/web-4 and 2 more",
    }


@rows("resource", {"before the round looks": LEASES, "between the look and the write": NODE_REMOVAL_REQUESTS})
async def test_a_removal_that_committed_meanwhile_is_not_cancelled(world, resource):
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-a"))
    await world.carry_out(nothing())

    async def commit():
        await world.set_status(NODE_REMOVAL_REQUESTS, "default-a", phase="Deprovisioning")

    world.cluster.call_before("patch", resource, commit)
    result = await world.carry_out(nothing(removal_cancels=(RemovalCancel("default-a", ()),)))
    [made] = await world.items(NODE_REMOVAL_REQUESTS)
    assert made["status"] == {"phase": "Deprovisioning"}
    assert result.is_open


async def test_the_idle_mark_is_set_and_lifted(world):
    await world.add_node("default-a")
    since = world.now() - timedelta(minutes=1)
    await world.carry_out(nothing(idle_since={"default-a": since}))
    [node] = await world.items(NODES)
    assert node["metadata"]["annotations"] == {ANNOTATION_IDLE_SINCE: "2026-11-01T11:59:00Z"}
    await world.carry_out(nothing(idle_since={"default-a": None}))
    [node] = await world.items(NODES)
    assert ANNOTATION_IDLE_SINCE not in node["metadata"].get("annotations", {})


async def test_both_marks_of_a_node_without_annotations_are_written(world):
    await world.add_node("default-a")
    marked = {"idle_since": {"default-a": world.now()}, "pods_since": {"default-a": "2026-11-01T12:00:00Z e3b0"}}
    await world.carry_out(nothing(**marked))
    [node] = await world.items(NODES)
    assert node["metadata"]["annotations"] == {
        ANNOTATION_IDLE_SINCE: "2026-11-01T12:00:00Z",
        ANNOTATION_PODS_SINCE: "2026-11-01T12:00:00Z e3b0",
    }


async def test_what_keeps_machines_comes_first_and_what_takes_them_last(world):
    await world.add_node("default-a")
    for name in ("default-b", "default-c"):
        await world.cluster.create(NODE_REQUESTS, request(name))
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-d"))
    await world.carry_out(nothing())
    world.cluster.writes.clear()
    seat = Seat(namespace="shop", name="s", uid="s")
    plan = nothing(
        removal_cancels=(RemovalCancel("default-d", ()),),
        cancelled=("default-b",),
        reservations={"default-c": (seat,)},
        requests=(bought(),),
        idle_since={"default-a": world.now()},
        removals=(begun("default-a"),),
        pools=(PoolReport(name="default", status=NodePoolStatus(nodes=PoolCounts(ready=1)), delta=0),),
    )
    await world.carry_out(plan)
    resources = [write.split("/")[0] for write in world.cluster.writes]
    assert resources[:9] == [
        "patch leases",
        "patch noderemovalrequests",
        "delete noderequests",
        "patch noderequests",
        "create noderequests",
        "patch nodes",
        "create noderemovalrequests",
        "patch nodepools",
        "patch leases",
    ]
    assert set(resources[9:]) == {"create events"}


@pytest.mark.parametrize(
    ("phase", "more", "is_open"),
    [
        ("Pending", {}, True),
        ("Provisioning", {}, True),
        ("Deprovisioning", {}, True),
        ("Ready", {}, True),
        ("Ready", {"releasedAt": "2026-11-01T12:00:00Z"}, False),
        ("Unmet", {}, False),
        ("Failed", {}, False),
    ],
)
async def test_what_may_change_soon_is_open(world, phase, more, is_open):
    await world.carry_out(nothing())
    assert not (await world.carry_out(nothing())).is_open
    await world.cluster.create(NODE_REQUESTS, request("default-b"))
    await world.set_status(NODE_REQUESTS, "default-b", phase=phase, workflowId="w", **more)
    assert (await world.carry_out(nothing())).is_open == is_open


@pytest.mark.parametrize(("phase", "is_open"), [("Pending", True), ("Deprovisioning", True), ("CouldNotRemove", False)])
async def test_a_parked_removal_is_not_open(world, phase, is_open):
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-b"))
    await world.set_status(NODE_REMOVAL_REQUESTS, "default-b", phase=phase, workflowId="w")
    assert (await world.carry_out(nothing())).is_open == is_open


async def test_the_result_passes_on_what_the_next_round_needs(world):
    memory = PlannerMemory(supply="hash")
    wake_at = world.now() + timedelta(minutes=3)
    unplaced = Unplaced(pod="shop/big", uid="u", reasons=())
    plan = Plan(result=PlanResult.INCOMPLETE_PLACEMENT, unplaced=(unplaced,), memory=memory, wake_at=wake_at)
    result = await world.carry_out(plan, versions={"other": "5"})
    assert (result.result, result.memory, result.wake_at) == (PlanResult.INCOMPLETE_PLACEMENT, memory, wake_at)
    assert result.versions["other"] == "5"
    assert int(result.versions["pods"]) > 0
    assert result.summary == "IncompletePlacement, 1 pod without a place"
    assert len(result.model_dump_json()) < 4096


async def test_a_request_of_two_hundred_machines_starts_a_hundred_and_goes_on_at_once(world):
    activities = world.activities(planner=lambda s: nothing() if s.requests else buying(150))
    first = await world.run(activities=activities)
    second = await world.run(activities=activities)
    assert (len(first.requests), first.is_partial) == (100, True)
    assert (len(second.requests), second.is_partial) == (50, False)
    names = [request.name for request in (*first.requests, *second.requests)]
    assert len(set(names)) == 150
    assert await world.names(NODE_POOLS) == ["default"]
