"""What changes from one plan to another."""

from dataclasses import replace
from decimal import Decimal

from planner.model.plan import Placed, Plan, PlanResult, Reason, RemovalCancel, Unplaced
from planner.plan import plan as decide
from tests.builders import before, kwok_node_class, node, node_pool, node_request, pod, server_type
from tests.planner.scenes import Scene, scene
from worker.commands.plan.diff import MachineChange, PlanChange, compare, counts

FULL = Reason("LimitReached", "pool default is at its max")


def decided(**parts):
    return decide(Scene(classes=[kwok_node_class()], **parts).snapshot())


def kinds(diff):
    return [(one.server_type, one.location, one.before, one.after) for one in diff.machines]


# Each fills a cx22 of 2 vCPU (0.0066), and two of them a cx32 of 4 (0.0106): see tests/planner/scenes.py, KINDS.
FOUR = [pod(f"p-{k}", "2", "1Gi") for k in range(4)]
ONE_TYPE = {"types": [{"name": "cx22"}]}


def test_more_machines_and_the_pods_that_they_are_for():
    old = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE, limits={"max": 3})])
    new = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE, limits={"max": 9})])
    diff = compare(old, new)
    assert diff.machines == (MachineChange("default", "cx22", "fsn1", Decimal("0.0066"), before=3, after=4),)
    assert diff.cost_difference == Decimal("0.0066")
    (placed,) = diff.placed
    (missed,) = old.unplaced
    assert (placed.pod, placed.reasons) == (missed.pod, missed.reasons)
    assert [reason.code for reason in placed.reasons] == ["LimitReached"]
    assert (placed.node, placed.request) == (None, "default-new-4")
    assert (diff.unplaced, diff.is_empty) == ((), False)
    assert (counts(old), counts(new)) == ((3, 1), (4, 0))


def test_the_other_way_round():
    old = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE, limits={"max": 9})])
    new = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE, limits={"max": 3})])
    diff = compare(old, new)
    assert (diff.placed, diff.unplaced) == ((), new.unplaced)
    assert diff.cost_difference == Decimal("-0.0066")


def test_other_types():
    diff = compare(
        decided(pods=FOUR, pools=[node_pool(**ONE_TYPE)]), decided(pods=FOUR, pools=[node_pool(types=["cx32"])])
    )
    assert kinds(diff) == [("cx22", "fsn1", 4, 0), ("cx32", "fsn1", 0, 2)]
    assert diff.cost_difference == Decimal("-0.0052")
    assert (diff.placed, diff.unplaced) == ((), ())


def test_a_machine_at_another_price_is_another_one():
    dear = kwok_node_class(server_type("cx22", pricePerHour="0.01"))
    new = decide(scene(*FOUR, classes=[dear], pools=[node_pool(**ONE_TYPE)]).snapshot())
    diff = compare(decided(pods=FOUR, pools=[node_pool(**ONE_TYPE)]), new)
    assert [(one.price_per_hour, one.before, one.after) for one in diff.machines] == [
        (Decimal("0.0066"), 4, 0),
        (Decimal("0.01"), 0, 4),
    ]
    assert not diff.is_empty


def test_a_plan_and_itself():
    made = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE)])
    diff = compare(made, made)
    assert diff.is_empty
    assert kinds(diff) == [("cx22", "fsn1", 4, 4)]
    assert diff.cost_difference == 0


def test_what_leaves():
    idle = [node("idle", annotations={"growth.dev/idle-since": before(minutes=5)})]
    parts = {"nodes": idle, "requests": [node_request("r")]}
    old = decided(**parts, pools=[node_pool(scaleDown={"idleAfter": "1m"})])
    new = decided(**parts, pools=[node_pool(scaleDown={"idleAfter": "1h"})])
    diff = compare(old, new)
    assert ([removal.node for removal in diff.removals.dropped], diff.removals.added) == (["idle"], ())
    assert not diff.is_empty
    # At another moment it is another removal.
    later = decided(**parts, pools=[node_pool(scaleDown={"idleAfter": "1m", "softGrace": "1h"})])
    assert [len(found) for found in (compare(old, later).removals.dropped, compare(old, later).removals.added)] == [
        1,
        1,
    ]


def test_requests_and_removals_that_are_given_up():
    old = Plan(PlanResult.NO_DEMANDS, cancelled=("a", "b"), removal_cancels=(RemovalCancel("x", ("p",)),))
    new = Plan(PlanResult.NO_DEMANDS, cancelled=("b", "c"), removal_cancels=(RemovalCancel("x", ("q",)),))
    diff = compare(old, new)
    assert (diff.cancelled, diff.cancelled_removals) == (PlanChange(("a",), ("c",)), PlanChange((), ()))
    assert not diff.is_empty


def test_pods_on_machines_that_are_there_have_a_place_too():
    old = Plan(PlanResult.INCOMPLETE_PLACEMENT, unplaced=(Unplaced("d/b", "b", (FULL,)), Unplaced("d/a", "a", (FULL,))))
    new = Plan(PlanResult.ALL_PLACED, placed=(Placed("d/b", node="n"), Placed("d/a", request="r"), Placed("d/c", "n")))
    diff = compare(old, new)
    assert [(p.pod, p.node, p.request, p.reasons) for p in diff.placed] == [
        ("d/a", None, "r", (FULL,)),
        ("d/b", "n", None, (FULL,)),
        # It was not asked for before.
        ("d/c", "n", None, ()),
    ]


def test_two_currencies_have_no_difference():
    old = decided(pods=FOUR, pools=[node_pool(**ONE_TYPE)])
    diff = compare(old, replace(old, currency="USD"))
    assert (diff.cost_difference, diff.is_empty) == (None, False)
    nothing = Plan(PlanResult.NO_DEMANDS)
    assert compare(nothing, old).cost_difference == Decimal("0.0264")
