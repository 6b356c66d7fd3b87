"""Removals that a round writes together: after their requests, naming them, and all of a step or none.

Source: docs/design.md#replacement.
"""

from contextlib import suppress
from dataclasses import replace

import pytest

from activities.ports.cluster import EVENTS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS
from activities.ports.errors import Rejected
from api.v1alpha1.node_pool import NodePoolStatus
from planner.model.plan import Move, PoolReport
from tests.activities.rounds import Crash, World, begun, bought, nothing


@pytest.fixture
async def world():
    """Two machines with a pod each."""
    made = World()
    await made.install()
    for number, name in enumerate(("default-a", "default-b")):
        await made.add_node(name)
        await made.add_pods(1, prefix=name, nodeName=name, owner=f"rs-{number}")
    made.cluster.writes.clear()
    return made


def replaced(*names, step="one", ordinals=(0,), moves=()):
    return nothing(
        requests=tuple(bought(ordinal, seats=()) for ordinal in (0, 1)[: len(ordinals)]),
        removals=tuple(
            begun(name, reason="Consolidation", replacement=ordinals, step=step, moves=moves) for name in names
        ),
    )


async def removals(world):
    return {item["metadata"]["name"]: item for item in await world.items(NODE_REMOVAL_REQUESTS)}


def writes(world):
    return [write for write in world.cluster.writes if "node" in write and "create" in write]


async def test_requests_are_written_first_and_removals_name_them(world):
    await world.carry_out(replaced("default-a", "default-b", ordinals=(0, 1)))
    requests = await world.names(NODE_REQUESTS)
    made = await removals(world)
    assert [sorted(item["spec"]["replacedBy"]) for item in made.values()] == [sorted(requests)] * 2
    kinds = [write.split()[1].split("/")[0] for write in writes(world)]
    assert kinds == ["noderequests"] * 2 + ["noderemovalrequests"] * 2


async def test_removals_of_one_step_know_each_other_and_how_many_they_are(world):
    await world.carry_out(replaced("default-a", "default-b"))
    labels = {item["metadata"]["labels"]["growth.dev/step"] for item in (await removals(world)).values()}
    assert len(labels) == 1
    assert labels.pop().endswith(".2")


async def test_one_that_is_alone_has_no_step_and_one_that_moves_nothing_says_nothing(world):
    await world.carry_out(nothing(removals=(begun("default-a"),)))
    made = (await removals(world))["default-a"]
    assert "growth.dev/step" not in made["metadata"]["labels"]
    assert made["spec"]["replacedBy"] == []
    assert not {"moves", "why"} & set(made["spec"])


async def test_moves_name_pod_machine_and_controller(world):
    plan = nothing(
        removals=(begun("default-a", moves=(Move("shop/default-a-0", "default-b"), Move("shop/x", "default-b"))),)
    )
    await world.carry_out(plan)
    known, unknown = (await removals(world))["default-a"]["spec"]["moves"]
    assert known == {"pod": "shop/default-a-0", "node": "default-b", "owner": known["owner"]}
    (reference,) = (await world.cluster.get(PODS, "default-a-0", namespace="shop"))["metadata"]["ownerReferences"]
    assert known["owner"] == reference["uid"]
    assert unknown == {"pod": "shop/x", "node": "default-b"}


async def test_pods_for_a_machine_that_is_kept_for_nobody_are_moves_to_it(world):
    pod = await world.cluster.get(PODS, "default-a-0", namespace="shop")
    seat = (
        replace(bought(), reserve=False)
        .seats[0]
        .model_copy(update={"name": "default-a-0", "uid": pod["metadata"]["uid"]})
    )
    plan = nothing(
        requests=(bought(seats=(seat,), reserve=False),),
        removals=tuple(begun(name, replacement=(0,)) for name in ("default-a", "default-b")),
    )
    await world.carry_out(plan)
    (name,) = await world.names(NODE_REQUESTS)
    made = await removals(world)
    assert [(move["pod"], move["node"]) for move in made["default-a"]["spec"]["moves"]] == [("shop/default-a-0", name)]
    assert "moves" not in made["default-b"]["spec"]


async def test_the_purchase_tells_whose_place_it_takes(world):
    await world.carry_out(replaced("default-a", "default-b"))
    notes = [event["note"] for event in await world.items(EVENTS) if event["reason"] == "Requested"]
    assert len(notes) == 1
    assert notes[0].endswith(". It takes the place of default-a, default-b")


async def test_removals_that_move_pods_say_why_on_the_object_and_as_an_event(world):
    await world.carry_out(replaced("default-a"))
    made = (await removals(world))["default-a"]
    assert made["spec"]["why"] == begun("default-a").why
    notes = [event["note"] for event in await world.items(EVENTS) if event["reason"] == "Consolidation"]
    assert notes == [made["spec"]["why"]]


@pytest.mark.parametrize("refused", ["default-a", "default-b"])
async def test_when_one_removal_of_a_step_is_refused_nothing_of_it_stays(world, refused):
    world.cluster.refuse_writes(Rejected("no"), "create", NODE_REMOVAL_REQUESTS, name=refused)
    await world.carry_out(replaced("default-a", "default-b"))
    (other,) = (await removals(world)).values()
    assert other["status"]["cancel"]["by"] == "Planner"
    assert [item["metadata"].get("deletionTimestamp") is not None for item in await world.items(NODE_REQUESTS)] == [
        True
    ]


async def test_what_another_step_needs_stays(world):
    world.cluster.refuse_writes(Rejected("no"), "create", NODE_REMOVAL_REQUESTS, name="default-b")
    plan = replaced("default-a", step="one")
    plan = replace(plan, removals=(*plan.removals, begun("default-b", replacement=(0,), step="two")))
    await world.carry_out(plan)
    assert "cancel" not in (await removals(world))["default-a"].get("status", {})
    assert [item["metadata"].get("deletionTimestamp") for item in await world.items(NODE_REQUESTS)] == [None]


async def test_when_a_request_is_refused_its_removals_are_not_written(world):
    world.cluster.refuse_writes(Rejected("no"), "create", NODE_REQUESTS)
    await world.carry_out(replaced("default-a", "default-b"))
    assert await removals(world) == {}


@pytest.mark.parametrize("wrong", [{"replacement": tuple(range(11))}, {"moves": (Move("shop/x", "n"),) * 501}])
async def test_more_than_an_object_may_say_is_not_written(world, wrong):
    requests = tuple(bought(ordinal, seats=()) for ordinal in range(11))
    await world.carry_out(nothing(requests=requests, removals=(begun("default-a", **{"replacement": (0,)} | wrong),)))
    assert await removals(world) == {}


@pytest.mark.parametrize("when", ["crash_at", "crash_after"])
@pytest.mark.parametrize("write", range(1, 12))
async def test_after_a_death_at_any_write_the_next_round_leaves_a_whole_step_or_none(world, when, write):
    """With the real planner, which wants none of it: whatever is not whole is taken back, and nothing is bought."""
    setattr(world.cluster, when, write)
    with suppress(Crash):
        await world.carry_out(replaced("default-a", "default-b"))
    world.cluster.crash_at = world.cluster.crash_after = None
    for _ in range(30):
        result = await world.run()
        if not result.is_partial:
            break
        await world.sleep(5)
    made = await removals(world)
    open_requests = [item for item in await world.items(NODE_REQUESTS) if "deletionTimestamp" not in item["metadata"]]
    is_cancelled = {"cancel" in item.get("status", {}) for item in made.values()}
    if len(made) == 2 and is_cancelled == {False}:
        assert len(open_requests) == 1
    else:
        assert open_requests == []
        assert is_cancelled <= {True}


async def scaling(world):
    """Return reason and object of the events of scaling."""
    told = [(e["reason"], e["regarding"]["kind"]) for e in await world.items(EVENTS)]
    return sorted(reason for reason, kind in told if kind == "NodePool" and reason.startswith("Scaling"))


async def test_pools_are_told_of_what_was_written_and_of_nothing_else(world):
    world.cluster.refuse_writes(Rejected("no"), "create", NODE_REQUESTS)
    await world.carry_out(nothing(requests=(bought(0, seats=()),), pools=(PoolReport("default", NodePoolStatus(), 1),)))
    assert await scaling(world) == []
    world.cluster.refuse = None
    plan = nothing(
        requests=(bought(0, seats=()),),
        removals=(begun("default-a"),),
        pools=(PoolReport("default", NodePoolStatus(), 0),),
    )
    await world.carry_out(plan)
    assert await scaling(world) == ["ScalingDown", "ScalingUp"]
    await world.carry_out(nothing(pools=plan.pools))
    assert await scaling(world) == ["ScalingDown", "ScalingUp"]
