"""Dry run: a pool tells what it would do, nothing is written for it, and other pools plan as if it could do nothing."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.model.plan import Because, Plan
from planner.plan import plan
from tests.builders import node, node_pool, node_removal_request, node_request, pod
from tests.planner.policies.triggers.fleet import aged, condition
from tests.planner.scenes import scene, seat

IDLE = {"growth.dev/idle-since": "2026-01-01T00:00:00Z"}
OWN = {"growth.dev/pool": "dry"}
OPEN = node_pool("open", types=["cx42"], matchUnselectedPods=True)
MARKS = {"idle_since", "pods_since", "template_hashes", "underused_since"}
"""What a plan writes on Nodes, by their names."""


def dry(**spec):
    return node_pool("dry", **{"types": ["cx22"], "matchUnselectedPods": True, "dryRun": True} | spec)


def told(of):
    return condition(of, "DryRun", "dry").message


def test_nothing_is_bought_and_what_would_be_is_told():
    of = scene(dry(limits={"min": 2, "max": 9}), pod("web", "1"))
    made = plan(of.snapshot())
    assert made.requests == ()
    ((reason,),) = (one.reasons for one in made.unplaced)
    assert (reason.code, reason.message) == ("DryRun", "pool dry only tells what it would do: spec.dryRun is true")
    assert told(of) == "It would buy 2 machines (2 of cx22 in fsn1), and remove none"
    (dry_run,) = made.dry_runs
    assert [[seat.name for seat in request.seats] for request in dry_run.requests] == [["web"], []]
    assert made.cost_per_hour == 0


def test_pods_of_many_rounds_without_a_place_are_told_of_all_the_same():
    """The back-off of pods that nothing is bought for is of what can be bought."""
    of = scene(dry(), pod("web", "1"))
    memory = plan(of.snapshot()).memory
    for _ in range(8):
        made = plan(of.snapshot(memory))
        memory = made.memory
    assert [request.server_type for request in made.dry_runs[0].requests] == ["cx22"]


def test_what_it_would_buy_keeps_no_pod_from_another_pool():
    """It is the cheaper one, and is chosen where it can buy."""
    of = scene(dry(), OPEN, pod("web", "1"))
    made = plan(of.snapshot())
    assert [(request.pool, request.server_type) for request in made.requests] == [("open", "cx42")]
    assert made.unplaced == ()
    assert told(of) == "It would buy 1 machine (1 of cx22 in fsn1), and remove none"


def test_nothing_goes_and_what_would_is_told():
    """Since when a machine is idle is written nowhere: one that is empty counts as idle since it is there."""
    young = aged("d", pool="dry")
    of = scene(
        dry(),
        aged("a", days=1, pool="dry"),
        young,
        node("b", pool="dry", annotations=IDLE),
        node("c", pool="open"),
        OPEN,
    )
    made = plan(of.snapshot())
    assert made.removals == ()
    assert told(of) == "It would buy nothing, and remove 2 machines (a: Empty, b: Empty)"
    # That c is idle is written, and nothing on the others: not even that they are kept.
    assert set(made.idle_since) == {"c"}


def test_a_request_that_nobody_needs_stays():
    of = scene(dry(), requests=[node_request("a", pool="dry", phase="Pending")])
    assert plan(of.snapshot()).cancelled == ()
    of.pools = [dry(dryRun=False)]
    assert plan(of.snapshot()).cancelled == ("a",)


def test_a_machine_in_its_cool_off_is_not_taken_back():
    of = scene(dry(), node("a", pool="dry"), pod("web", "1"), removals=[node_removal_request("a", pool="dry")])
    made = plan(of.snapshot())
    assert (made.removal_cancels, len(made.unplaced)) == ((), 1)
    of.pools = [dry(dryRun=False)]
    assert [cancel.removal for cancel in plan(of.snapshot()).removal_cancels] == ["a"]


def test_no_seat_is_written():
    waiting = pod("web", "1")
    coming = node_request("a", pool="dry", phase="Provisioning", seats=[])
    made = plan(scene(dry(), waiting, requests=[coming]).snapshot())
    assert ([placed.request for placed in made.placed], made.reservations) == (["a"], {})
    made = plan(scene(dry(dryRun=False), waiting, requests=[coming]).snapshot())
    assert [each.to_json() for each in made.reservations["a"]] == [seat(waiting)]


def test_pods_run_on_the_machines_that_are_there():
    made = plan(scene(dry(), node("a", pool="dry"), pod("web", "1")).snapshot())
    assert [placed.node for placed in made.placed] == ["a"]


def test_a_taint_that_asks_for_a_removal_is_not_obeyed_by_a_round():
    gone = node("a", pool="dry", taints=[{"key": "growth.dev/remove-now", "effect": "NoSchedule"}])
    of = scene(dry(), gone)
    assert plan(of.snapshot()).removals == ()
    assert told(of) == "It would buy nothing, and remove 1 machine (a: RemoveNow)"


def test_that_it_is_over_is_told():
    of = scene(dry(dryRun=None))
    of.pools[0]["status"] = {"conditions": [condition(scene(dry()), "DryRun", "dry").to_json()]}
    over = condition(of, "DryRun", "dry")
    assert (over.status, over.reason) == ("False", "NoDryRun")


def test_it_is_no_trouble_that_is_told_again_and_again():
    made = plan(scene(dry()).snapshot())
    assert [event for event in made.events if event.kind == "NodePool"] == []


def test_marks_of_nodes_are_all_known_here():
    """A further mark must be left out for pools in dry run as well."""
    named = {field.name for field in fields(Plan)}
    marks = {name for name in named if name.endswith(("_since", "_hashes"))}
    assert marks == MARKS


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_pool_in_dry_run_gets_nothing_and_the_others_are_planned_as_if_it_could_not_buy(data):
    pods = [
        pod(f"web-{i}", data.draw(st.sampled_from(["200m", "1", "3"]))) for i in range(data.draw(st.integers(0, 5)))
    ]
    nodes = [
        node(
            f"n{i}",
            pool=data.draw(st.sampled_from(["dry", "open"])),
            annotations=data.draw(st.sampled_from([IDLE, {}])),
        )
        for i in range(data.draw(st.integers(0, 4)))
    ]
    minimum = {"min": data.draw(st.integers(0, 3)), "max": 9}
    of = scene(dry(limits=minimum), OPEN, pods=pods, nodes=nodes)
    made = plan(of.snapshot())
    own = {each["metadata"]["name"] for each in nodes if each["metadata"]["labels"]["growth.dev/pool"] == "dry"}
    assert "dry" not in {one.pool for one in (*made.requests, *made.removals)}
    for mark in MARKS:
        assert own.isdisjoint(getattr(made, mark))
    of.pools[0] = dry(limits=minimum, dryRun=None, paused=True)
    paused = plan(of.snapshot())
    # Why a machine is of its type names what keeps a cheaper one from being bought.
    bought, of_paused = ([replace(r, because=Because(), why="") for r in each.requests] for each in (made, paused))
    assert (of_paused, paused.removals, paused.placed) == (bought, made.removals, made.placed)
    of.pools[0] = dry(limits=minimum, dryRun=None)
    as_if = plan(of.snapshot())
    assert made.dry_runs[0].requests == tuple(each for each in as_if.requests if each.pool == "dry")


@pytest.mark.parametrize("fields_of", [{"dryRun": False}, {"schedule": None}, {"health": None}, {"schedule": []}])
def test_a_pool_without_these_fields_is_planned_as_before(fields_of):
    of = scene(node("a"), node("b", annotations=IDLE), pods=[pod("web", "3")], limits={"min": 1})
    before = plan(of.snapshot())
    if fields_of == {"schedule": []}:
        fields_of = {"health": {"grace": "1h", "newestPercent": 50}}
    of.pools[0]["spec"] |= fields_of
    assert plan(of.snapshot()) == before
