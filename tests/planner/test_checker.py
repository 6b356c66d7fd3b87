"""The checker must see what it is there for: each planted fault in a good plan is told."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from planner.model.plan import Placed, Plan, PlannedRemoval, PlanResult, Reason, RemovalCancel, Unplaced
from planner.plan import plan
from tests.builders import (
    NOW,
    before,
    claim,
    daemon_set,
    kwok_node_class,
    node,
    node_pool,
    node_removal_request,
    node_request,
    pod,
    storage_class,
)
from tests.planner.checker import violations
from tests.planner.scenes import Scene
from tests.planner.wishes import ZONE, affinity, apart, named, needs, spread, term


def good() -> tuple[Scene, Plan]:
    """A scene with a bit of everything, and a plan for it without a fault."""
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22", {"name": "cx32", "max": 1}])])
    scene.pods = [pod("a", "1500m"), pod("b", "1500m"), pod("c", "1200m", labels={"app": "c"}, affinity=apart(app="c"))]
    scene.pods += [pod("d", "1900m"), pod("e", "1900m")]
    scene.pods += [pod("runs", node="old", labels={"app": "c"}), pod("large", "64")]
    scene.nodes = [node("old"), node("cooling")]
    scene.removals = [node_removal_request("cooling")]
    scene.requests = [node_request("coming")]
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
    scene = Scene(
        classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1500m"), pod("b", "1500m")]
    )
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
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "2"), pod("b", "2")])
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
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a")])
    lazy = Plan(
        result=PlanResult.INCOMPLETE_PLACEMENT,
        unplaced=(Unplaced("default/a", "uid-a", (Reason("LimitReached", "no"),)),),
        optimal=True,
    )
    assert "default/a is left out although cx22 may be bought" in told(scene, lazy)


def test_an_offering_that_is_not_to_be_had():
    scene, made = good()
    scene.requests.append(
        node_request("missed", made.requests[0].server_type, phase="Unmet", expiresAt="2026-03-01T12:01:00Z")
    )
    assert "is bought though it is not to be had" in told(scene, made)


def test_a_pool_whose_last_request_failed():
    scene, made = good()
    scene.requests.append(node_request("failed", phase="Failed", expiresAt="2026-03-01T12:01:00Z"))
    assert "a machine is bought for pool default, whose last request failed" in told(scene, made)


def test_a_removed_node_with_a_pod_or_below_the_minimum():
    scene, made = good()
    scene.nodes[0]["metadata"]["annotations"]["growth.dev/idle-since"] = before(hours=1)
    scene.pools[0]["spec"]["limits"]["min"] = 1
    ref = made.requests[0].class_ref
    gone = PlannedRemoval("old", "old", None, "default", "cx22", "fsn1", ref, "Empty", "", NOW + timedelta(minutes=1))
    sentences = told(scene, replace(made, removals=(gone,)))
    assert "old shall go although something keeps it" in sentences
    assert "1 machines of all types leave pool default, which keeps 1" in sentences
    sick, going = node("sick", ready=False), node("going", deleting=True)
    scene.nodes += [sick, going]
    sentences = told(scene, replace(made, removals=(gone,)))
    assert "1 machines of all types leave pool default, which keeps 1" not in sentences
    assert "1 Ready machines of all types leave pool default, which keeps 1" in sentences
    scene.nodes.remove(sick)
    assert "1 machines of all types leave pool default, which keeps 1" in told(scene, replace(made, removals=(gone,)))


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


@pytest.mark.parametrize(
    "beyond",
    [
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
        {"volumes": [{"name": "old", "cinder": {"volumeID": "x"}}]},
        {"tolerations": [{"key": "slots", "operator": "Gt", "value": "3", "effect": "NoSchedule"}]},
    ],
)
def test_a_pod_placed_though_not_judged(beyond: dict[str, Any]):
    scene, made = good()
    scene.pods[0]["spec"] |= beyond
    assert "default/a is placed though not judged" in told(scene, made)


def test_a_pod_not_judged_though_there_is_nothing_to_it():
    scene, made = good()
    mute = Unplaced("default/large", "uid-large", (Reason("NotJudged", "spec.restartPolicy"),))
    assert "default/large is not judged although" in told(scene, replace(made, unplaced=(mute,)))


@pytest.mark.parametrize(
    "hungry",
    [
        {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]},
        {"initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]},
        {"overhead": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "3"}}},
        {"containers": [{"name": "gpu", "resources": {"limits": {"example.com/gpu": "1"}}}]},
    ],
)
def test_a_pod_that_asks_for_more_than_its_containers_say(hungry: dict[str, Any]):
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1500m")])
    made = plan(scene.snapshot())
    assert violations(scene, made) == []
    scene.pods[0]["spec"] |= hungry
    assert "new-0 is overfilled" in told(scene, made) or "new cx22 is overfilled" in told(scene, made)


def test_a_pod_as_a_whole_may_ask_for_less_than_its_containers():
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1500m")])
    made = plan(scene.snapshot())
    scene.pods[0]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2500m"
    assert "is overfilled" in told(scene, made)
    scene.pods[0]["spec"]["resources"] = {"requests": {"cpu": "1900m"}}
    assert told(scene, made) == ""


def test_a_gated_pod_is_no_demand():
    scene, made = good()
    scene.pods[0]["spec"]["schedulingGates"] = [{"name": "later"}]
    assert "default/a is no demand" in told(scene, made)


def test_a_new_daemon_set_that_no_longer_fits_beside():
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1950m")])
    made = plan(scene.snapshot())
    scene.daemon_sets = [daemon_set("agent", "100m", nodeSelector={"disk": "ssd"})]
    assert violations(scene, made) == []
    scene.daemon_sets = [daemon_set("agent", "100m")]
    assert "new cx22 is overfilled: cpu 2050 of 2000" in told(scene, made)


@pytest.mark.parametrize(
    "wish",
    [
        needs([{"key": "disk", "operator": "Exists"}]),
        needs([{"key": "disk", "operator": "In", "values": ["ssd"]}]),
        needs([{"key": "kubernetes.io/os", "operator": "NotIn", "values": ["linux"]}]),
        needs([{"key": "kubernetes.io/os", "operator": "DoesNotExist"}]),
        needs([{"key": "generation", "operator": "Gt", "values": ["3"]}]),
        needs([{"key": "generation", "operator": "Lt", "values": ["9"]}]),
        needs([]),
        affinity(fields=named("old")),
    ],
)
def test_a_machine_that_the_pod_does_not_want(wish: dict[str, Any]):
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1500m")])
    made = plan(scene.snapshot())
    scene.pods[0]["spec"]["affinity"] = wish
    assert "default/a does not want new cx22" in told(scene, made)


@pytest.mark.parametrize(
    ("toleration", "is_refused"),
    [
        (None, True),
        ({"operator": "Exists"}, False),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "team", "value": "blue"}, False),
        ({"key": "team", "value": "red"}, True),
    ],
)
def test_a_machine_that_the_pod_does_not_tolerate(toleration: dict[str, str] | None, is_refused: object):
    tainted = {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]}
    scene = Scene(classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", "1500m")])
    made = plan(scene.snapshot())
    scene.pools[0]["spec"]["template"] = tainted
    scene.pods[0]["spec"]["tolerations"] = [toleration] if toleration else []
    assert ("default/a does not tolerate team" in told(scene, made)) == is_refused


@pytest.mark.parametrize(
    ("wish", "claims"),
    [
        ({"topologySpreadConstraints": [spread(app="a")]}, []),
        ({"affinity": affinity(away=term(ZONE, {"app": "b"}))}, []),
        ({"affinity": affinity(near=term(ZONE, {"app": "runs"}))}, []),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]}, [claim("disk")]),
    ],
)
def test_a_pod_left_out_although_its_wish_can_be_met(wish: dict[str, Any], claims: list[dict[str, Any]]):
    scene = Scene(
        classes=[kwok_node_class()], pools=[node_pool(types=["cx22"])], pods=[pod("a", labels={"app": "a"}, **wish)]
    )
    scene.pods.append(pod("runs", "2", node="full", labels={"app": "runs"}))
    scene.nodes, scene.claims, scene.storage_classes = [node("full")], claims, [storage_class()]
    reasons = (Reason("SpreadUnsatisfiable", "no"),)
    lazy = Plan(PlanResult.INCOMPLETE_PLACEMENT, unplaced=(Unplaced("default/a", "uid-a", reasons),), optimal=True)
    settled = violations(scene, lazy, is_settled=True)
    assert "default/a is left out although cx22 may be bought for pool default" in settled
    # Who asks something of others may have to wait for the next round; who does not, has no reason to.
    assert (settled == violations(scene, lazy)) == bool(claims)
    # Nobody may complain where it cannot be met.
    scene.pods[0]["spec"]["affinity"] = affinity(away=term(ZONE, {"app": "runs"}))
    assert violations(scene, lazy, is_settled=True) == []
