"""The checker must see what it is there for: each planted fault in a good plan is told."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from planner.model import Placed, Plan, PlannedRemoval, PlanResult, Reason, RemovalCancel, Unplaced
from planner.plan import plan
from tests.planner.checker import violations
from tests.planner.scenes import NOW, Scene, apart, before, node, node_class, pod, pool, removal, request


def good() -> tuple[Scene, Plan]:
    """A scene with a bit of everything, and a plan for it without a fault."""
    scene = Scene(classes=[node_class()], pools=[pool(types=["cx22", {"name": "cx32", "max": 1}])])
    scene.pods = [pod("a", "1500m"), pod("b", "1500m"), pod("c", "1200m", labels={"app": "c"}, affinity=apart(app="c"))]
    scene.pods += [pod("d", "1900m"), pod("e", "1900m")]
    scene.pods += [pod("runs", node="old", labels={"app": "c"}), pod("large", "64")]
    scene.nodes = [node("old"), node("cooling")]
    scene.removals = [removal("cooling")]
    scene.requests = [request("coming")]
    made = plan(scene.snapshot())
    assert violations(scene, made) == []
    assert made.requests
    assert made.removal_cancels
    return scene, made


def told(scene: Scene, made: Plan) -> str:
    return "\n".join(violations(scene, made))


def test_a_pod_with_two_places():
    scene, made = good()
    twice = replace(made, placed=(*made.placed, made.placed[0]))
    assert f"{made.placed[0].pod} has 2 fates" in told(scene, twice)


def test_a_forgotten_pod():
    scene, made = good()
    assert "default/large has no fate" in told(scene, replace(made, unplaced=()))


def test_a_pod_without_a_reason():
    scene, made = good()
    mute = replace(made, unplaced=(Unplaced("default/large", "uid-large", ()),))
    assert "default/large has no reason" in told(scene, mute)


def test_a_wrong_result():
    scene, made = good()
    assert "the result is AllPlaced" in told(scene, replace(made, result=PlanResult.ALL_PLACED))


def test_an_overfilled_machine():
    scene = Scene(classes=[node_class()], pools=[pool(types=["cx22"])], pods=[pod("a", "1500m"), pod("b", "1500m")])
    made = plan(scene.snapshot())
    first, second = made.requests
    squeezed = replace(first, seats=(*first.seats, *second.seats))
    faulty = replace(made, requests=(squeezed,), cost_per_hour=first.price_per_hour)
    assert "new cx22 is overfilled: cpu 3000 of 2000" in told(scene, faulty)


def test_an_overfilled_node():
    scene, made = good()
    scene.pods.append(pod("guest", "1900m"))
    faulty = replace(made, placed=(*made.placed, Placed("default/guest", node="old")))
    assert "old is overfilled: cpu 3900 of 2000" in told(scene, faulty)


def test_a_pod_beside_one_it_keeps_away_from():
    scene, made = good()
    others = tuple(p for p in made.placed if p.pod != "default/c")
    faulty = replace(made, placed=(*others, Placed("default/c", node="old")))
    assert "default/c and default/runs must not share old" in told(scene, faulty)


def test_more_machines_than_allowed():
    scene = Scene(classes=[node_class()], pools=[pool(types=["cx22"])], pods=[pod("a", "2"), pod("b", "2")])
    made = plan(scene.snapshot())
    scene.pools[0]["spec"]["limits"]["max"] = 1
    assert "2 machines of all types are bought for pool default, room was for 1" in told(scene, made)


def test_a_plan_below_its_bound():
    scene, made = good()
    faulty = replace(made, lower_bound_per_hour=Decimal(9), optimal=False)
    assert "below its own bound 9" in told(scene, faulty)


def test_a_cost_that_is_not_the_sum():
    scene, made = good()
    assert "the cost is" in told(scene, replace(made, cost_per_hour=made.cost_per_hour + 1))


def test_a_pod_left_out_though_a_machine_may_be_bought():
    scene = Scene(classes=[node_class()], pools=[pool(types=["cx22"])], pods=[pod("a")])
    lazy = Plan(
        result=PlanResult.INCOMPLETE_PLACEMENT,
        unplaced=(Unplaced("default/a", "uid-a", (Reason("LimitReached", "no"),)),),
        optimal=True,
    )
    assert "default/a is left out although cx22 may be bought" in told(scene, lazy)


def test_an_offering_that_is_not_to_be_had():
    scene, made = good()
    scene.requests.append(
        request("missed", made.requests[0].server_type, phase="Unmet", expiresAt="2026-03-01T12:01:00Z")
    )
    assert "is bought though it is not to be had" in told(scene, made)


def test_a_removed_node_with_a_pod_or_below_the_minimum():
    scene, made = good()
    scene.nodes[0]["metadata"]["annotations"]["growth.dev/idle-since"] = before(hours=1)
    scene.pools[0]["spec"]["limits"]["min"] = 1
    ref = made.requests[0].class_ref
    gone = PlannedRemoval("old", "old", None, "default", "cx22", "fsn1", ref, "Empty", "", NOW + timedelta(minutes=1))
    sentences = told(scene, replace(made, removals=(gone,)))
    assert "old shall go although something keeps it" in sentences
    assert "1 machines of all types leave pool default, which keeps 1" in sentences


def test_a_node_under_removal_that_nobody_cancels():
    scene, made = good()
    faulty = replace(
        made,
        placed=(*(p for p in made.placed if p.pod != "default/a"), Placed("default/a", node="cooling")),
        removal_cancels=(),
    )
    assert "cooling is under removal and nobody cancels it" in told(scene, faulty)
    saved = replace(faulty, removal_cancels=(RemovalCancel("cooling", ("default/a",)),))
    assert "nobody cancels" not in told(scene, saved)


@pytest.mark.parametrize("field", ["topologySpreadConstraints", "volumes"])
def test_a_pod_placed_though_not_judged(field: str):
    scene, made = good()
    values = {"topologySpreadConstraints": [{"topologyKey": "zone"}], "volumes": [{"persistentVolumeClaim": {}}]}
    scene.pods[0]["spec"][field] = values[field]
    assert "default/a is placed though not judged" in told(scene, made)
