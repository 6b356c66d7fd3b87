"""Seats move between requests so that no pod ever holds two, wherever the writing is cut off."""

from datetime import UTC, datetime

import pytest

from activities.ports.cluster import NODE_REQUESTS
from activities.ports.errors import Rejected
from api.v1alpha1.node_request import Seat
from planner.model.plan import Plan, PlanResult
from tests.activities.bodies import request
from tests.activities.lives import at_each_write
from tests.activities.rounds import Crash, World, bought


def seat(name):
    return Seat(namespace="shop", name=name, uid=f"uid-{name}", owner="rs", pod_class="k")


def stored(*names):
    return [seat(name).to_json() for name in names]


@pytest.fixture
async def world():
    world = World()
    await world.install()
    for name, seats in (("default-a", ("p", "q")), ("default-b", ("r",)), ("default-c", ())):
        await world.cluster.create(NODE_REQUESTS, request(name, seats=stored(*seats)))
    return world


def plan(reservations, new=()):
    machines = tuple(
        bought(number, seats=tuple(seat(name) for name in names), why="A test") for number, names in enumerate(new)
    )
    wanted = {name: tuple(seat(each) for each in seats) for name, seats in reservations.items()}
    return Plan(result=PlanResult.ALL_PLACED, reservations=wanted, requests=machines, currency="EUR")


async def seats_by_request(world):
    return {
        item["metadata"]["name"]: [s["name"] for s in item["spec"].get("reservedFor", ())]
        for item in await world.items(NODE_REQUESTS)
    }


async def test_seats_are_written_where_they_change(world):
    await world.carry_out(plan({"default-a": ("p",), "default-c": ("s",)}))
    assert await seats_by_request(world) == {"default-a": ["p"], "default-b": ["r"], "default-c": ["s"]}


async def test_a_successor_takes_its_seat_in_one_write(world):
    world.cluster.writes.clear()
    await world.carry_out(plan({"default-a": ("p", "q2")}))
    assert [w for w in world.cluster.writes if "noderequests" in w] == ["patch noderequests/default-a"]
    assert (await seats_by_request(world))["default-a"] == ["p", "q2"]


async def test_the_last_seat_is_left_as_an_absent_list(world):
    await world.carry_out(plan({"default-b": ()}))
    assert "reservedFor" not in (await world.cluster.get(NODE_REQUESTS, "default-b"))["spec"]


SWAP = {"default-a": ("r", "q"), "default-b": ("p",)}


@at_each_write(11)
async def test_two_machines_swap_pods_and_no_crash_leaves_a_pod_with_two_seats(world, when, write):
    world.cluster.writes.clear()
    setattr(world.cluster, when, write)
    decided = plan({**SWAP, "default-c": ()}, new=[["s"]])
    try:
        await world.carry_out(decided)
        crashed = False
    except Crash:
        crashed = True
    assert crashed or write > len(world.cluster.writes)
    held = [name for seats in (await seats_by_request(world)).values() for name in seats]
    assert len(held) == len(set(held))
    if not crashed:
        after = await seats_by_request(world)
        assert (after.pop("default-a"), after.pop("default-b"), after.pop("default-c")) == (["r", "q"], ["p"], [])
        assert list(after.values()) == [["s"]]


async def test_a_pod_that_cannot_leave_its_seat_gets_no_other(world):
    world.cluster.refuse_writes(Rejected("a webhook says no"), "patch", name="default-a")
    await world.carry_out(plan({"default-a": ("q",), "default-c": ("p",)}, new=[["p"]]))
    assert await seats_by_request(world) == {"default-a": ["p", "q"], "default-b": ["r"], "default-c": []}


async def test_only_the_stuck_pods_are_left_out_of_a_new_machine(world):
    world.cluster.refuse_writes(Rejected("a webhook says no"), "patch", name="default-a")
    await world.carry_out(plan({"default-a": ("q",)}, new=[["p", "new"]]))
    seats = await seats_by_request(world)
    [machine] = [seats[name] for name in seats if name not in {"default-a", "default-b", "default-c"}]
    assert machine == ["new"]


async def touch(world, name, **status):
    await world.cluster.put(NODE_REQUESTS, name, "/status", status)


async def test_a_status_write_in_between_does_not_hold_a_seat_up(world):
    world.cluster.call_before(
        "patch", NODE_REQUESTS, lambda: touch(world, "default-a", phase="Pending", workflowId="w")
    )
    await world.carry_out(plan({"default-a": ("p",)}))
    assert (await seats_by_request(world))["default-a"] == ["p"]


@pytest.mark.parametrize(
    "status", [{"phase": "Ready"}, {"phase": "Pending", "releasedAt": datetime(2026, 11, 1, tzinfo=UTC).isoformat()}]
)
async def test_a_machine_that_went_on_meanwhile_is_left_to_the_next_round(world, status):
    world.cluster.call_before("patch", NODE_REQUESTS, lambda: touch(world, "default-c", **status))
    result = await world.carry_out(plan({"default-c": ("s",)}))
    assert (await seats_by_request(world))["default-c"] == []
    assert result.is_open


async def test_a_request_that_is_being_deleted_gets_no_seat(world):
    async def delete():
        await world.cluster.delete(NODE_REQUESTS, "default-c")

    world.cluster.call_before("patch", NODE_REQUESTS, delete)
    await world.carry_out(plan({"default-c": ("s",)}))
    assert (await seats_by_request(world))["default-c"] == []


async def test_pods_of_a_request_that_could_not_be_cancelled_get_no_other_seat(world):
    world.cluster.refuse_writes(Rejected("a webhook says no"), "delete", name="default-b")
    decided = plan({"default-c": ("r",)})
    await world.carry_out(Plan(result=decided.result, reservations=decided.reservations, cancelled=("default-b",)))
    assert await seats_by_request(world) == {"default-a": ["p", "q"], "default-b": ["r"], "default-c": []}
