"""The taint growth.dev/remove-now: who goes at once, and what keeps a machine all the same."""

from collections import Counter
from datetime import timedelta

import pytest

from planner.plan import plan
from tests.builders import NOW, before, node, node_removal_request, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat

KEPT = {"growth.dev/do-not-remove": "x"}


def marked(name="n", *, value="", effect="NoSchedule", cordoned=False, ready=True, **metadata):
    made = node(name, ready=ready, **metadata)
    made["spec"]["taints"] = [{"key": "growth.dev/remove-now", "value": value, "effect": effect}]
    if cordoned:
        made["spec"]["unschedulable"] = True
    return made


def leaving(given):
    return [(r.node, r.reason, r.at) for r in planned(given).removals]


AT_ONCE = [("n", "RemoveNow", NOW)]


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"])
@pytest.mark.parametrize("mode", ["empty", "drain", "none"])
def test_it_goes_at_once_in_every_mode_by_any_effect(mode, effect):
    assert (
        leaving(scene(marked(effect=effect), scaleDown={"mode": mode, "softGrace": "1h", "idleAfter": "1h"})) == AT_ONCE
    )


@pytest.mark.parametrize(
    "given",
    [
        {"ready": False},
        {"cordoned": True},
        {"value": "maintenance"},
        {"value": "force", "annotations": KEPT},
    ],
    ids=["not Ready", "cordoned", "another value", "kept, by force"],
)
def test_it_goes_although(given):
    assert leaving(scene(marked(**given))) == AT_ONCE


def test_no_minimum_keeps_it_and_the_next_round_buys_another():
    given = scene(marked(), limits={"min": 1, "max": 9})
    assert leaving(given) == AT_ONCE
    given.removals = [node_removal_request("n", reason="RemoveNow")]
    assert len(planned(given).requests) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"annotations": KEPT},
        {"annotations": KEPT, "value": "FORCE"},
    ],
    ids=["kept", "kept, a word that means nothing"],
)
def test_it_stays_although(given):
    assert leaving(scene(marked(**given))) == []


def test_a_node_that_growth_did_not_buy_stays():
    foreign = marked(value="force")
    del foreign["metadata"]["labels"]["growth.dev/request"]
    assert leaving(scene(foreign)) == []


def test_one_with_a_pod_stays_until_that_has_left():
    busy = scene(marked(), pods=[pod("x", node="n")])
    assert leaving(busy) == []
    busy.pods = []
    assert leaving(busy) == AT_ONCE


def test_what_else_keeps_a_machine_keeps_it_here_too():
    given = scene(marked())
    given.protected = {"n"}
    assert leaving(given) == []
    given = scene(marked())
    given.pools[0]["metadata"]["annotations"] = {"growth.dev/paused": "audit"}
    assert leaving(given) == []
    open_request = node_request("n", phase="Ready", readyAt=before(seconds=5), seats=[seat(pod("x"))])
    assert leaving(scene(marked(), requests=[open_request])) == []


def test_one_under_removal_already_is_left_to_that():
    assert leaving(scene(marked(), removals=[node_removal_request("n")])) == []


def test_nothing_is_bought_for_it_and_others_go_on():
    idle = {"growth.dev/idle-since": before(minutes=11)}
    given = scene(marked("a"), marked("b"), node("c", annotations=idle), scaleDown={"softGrace": "1m"})
    assert leaving(given) == [
        ("a", "RemoveNow", NOW),
        ("b", "RemoveNow", NOW),
        ("c", "Empty", NOW + timedelta(minutes=1)),
    ]


def test_a_thousand_go_in_one_round():
    nodes = [marked(f"n{n}") for n in range(1000)]
    made = plan(scene(*nodes, limits={"min": 1000, "max": 2000}).snapshot())
    assert Counter(removal.reason for removal in made.removals) == {"RemoveNow": 1000}
