"""Headroom gives up an empty machine where limits let none be bought for a pod that waits, and never in vain.

Source: docs/pools.md#headroom, "Real pods come first"; the balloon pods of Cluster Autoscaler, which pods that wait
preempt, so that their machines empty and go.
"""

import pytest

from planner.model.stages import unwatched
from planner.packing.fallback.pack import pack
from planner.placement import headroom_release
from planner.placement.decide import decide
from planner.placement.known_state import prepare
from planner.supply.limits import limits_left
from tests.builders import before, node, node_removal_request, pod, server_type
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene

IDLE = {"growth.dev/idle-since": before(minutes=11)}
ROOM = {"requests": {"cpu": "1", "memory": "1Gi"}, "count": 1}
BIG = pod("big", cpu="3", memory="1Gi")
FULL = [{"max": 1}, {"max": 9, "cpu": "4"}, {"max": 9, "memory": "8Gi"}, {"max": 9, "pricePerHour": "0.011"}]
"""Limits that a cx22 leaves no room under for the cx32 that the pod needs."""

SOLD_OUT = [server_type(name, sold_out=True) for name in ("cx32", "cx42")]


def short(made):
    found = [each for report in made.pools for each in report.status.conditions if each.type == "HeadroomShort"]
    return [each.reason for each in found if each.status == "True"]


def going(made):
    return [removal.node for removal in made.removals]


@pytest.mark.parametrize("limits", FULL)
def test_round_by_round_the_machine_goes_and_the_pod_gets_its_own(limits):
    asked = {"limits": limits, "headroom": [ROOM]}
    first = planned(scene(node("a"), pods=[BIG], **asked))
    assert (going(first), list(first.idle_since), first.requests) == ([], ["a"], ()), "it counts as idle from now on"
    second = planned(scene(node("a", annotations=IDLE), pods=[BIG], **asked))
    assert (going(second), second.requests, codes(second)) == (["a"], (), {"big": "LimitReached"})
    assert short(second) == ["RealPodsFirst"]
    leaving = node_removal_request("a", taintedAt=before(seconds=20), scaleDownAt=before(seconds=-40))
    tainted = node("a", annotations=IDLE, taints=[{"key": "growth.dev/scale-down", "effect": "NoSchedule"}])
    third = planned(scene(tainted, leaving, pods=[BIG], **asked))
    assert (third.removal_cancels, third.requests, short(third)) == ((), (), ["RealPodsFirst"])
    fourth = planned(scene(pods=[BIG], **asked))
    (request,) = fourth.requests
    assert (request.server_type, [seat.name for seat in request.seats], request.headroom) == ("cx32", ["big"], 1)


def test_without_such_a_pod_a_machine_that_goes_comes_back_for_headroom():
    leaving = node_removal_request("a", taintedAt=before(seconds=20), scaleDownAt=before(seconds=-40))
    tainted = node("a", taints=[{"key": "growth.dev/scale-down", "effect": "NoSchedule"}])
    made = planned(scene(tainted, leaving, limits={"max": 1}, headroom=[ROOM]))
    assert [cancel.removal for cancel in made.removal_cancels] == ["a"]


@pytest.mark.parametrize(
    ("why", "waiting", "changes"),
    [
        ("no type holds it", pod("big", cpu="64"), {}),
        ("the limit is too low for its machine", BIG, {"limits": {"max": 9, "cpu": "3"}}),
        ("its machine is sold out", BIG, {"kinds": [server_type("cx22"), *SOLD_OUT]}),
        ("a minimum keeps the machine", BIG, {"limits": {"min": 1, "max": 1}}),
        ("it may not use the pool", pod("big", cpu="3", nodeSelector={"disk": "fast"}), {}),
    ],
)
def test_nothing_is_given_up_in_vain(why, waiting, changes):
    given = scene(node("a", annotations=IDLE), pods=[waiting], headroom=[ROOM], **{"limits": {"max": 1}} | changes)
    assert (going(planned(given)), planned(given).held) == (
        [],
        {"a": "the headroom of pool default needs its room"},
    ), why


def test_a_machine_that_goes_anyway_is_enough():
    machines = [node(name, annotations=IDLE) for name in "ab"]
    made = planned(scene(*machines, pods=[BIG], limits={"max": 2}, headroom=[ROOM]))
    assert len(going(made)) == 1
    assert len(made.held) == 1


def test_as_few_go_as_the_pod_needs():
    machines = [node(name, annotations=IDLE) for name in "abc"]
    everything = {"requests": {"cpu": "2", "memory": "2Gi"}, "count": 3}
    made = planned(scene(*machines, pods=[BIG], limits={"max": 9, "cpu": "6"}, headroom=[everything]))
    assert (len(going(made)), len(made.held)) == (2, 1), "two of two cores each, for one of four"


def test_what_was_given_up_is_not_bought_again_before_the_pod_has_its_machine():
    # Two of four cores are left by now: enough for the headroom, and not for the pod.
    busy = [node("b"), pod("x", cpu="2", node="b")]
    asked = {"limits": {"max": 9, "cpu": "6"}, "headroom": [{**ROOM, "count": 2}]}
    made = planned(scene(*busy, node("a", annotations=IDLE), pods=[BIG], **asked))
    assert (going(made), made.requests, short(made)) == (["a"], (), ["RealPodsFirst"])
    fourth = planned(scene(*busy, pods=[BIG], **asked))
    assert types(fourth) == ["cx32"]


def test_many_pods_that_wait_do_not_take_the_time_of_a_round():
    machines = [node(f"m{n:03}", annotations=IDLE) for n in range(120)]
    waiting = [pod(f"w{n}", cpu=f"{3000 + n}m", memory="1Gi") for n in range(80)]
    everything = {"requests": {"cpu": "2", "memory": "2Gi"}, "count": 120}
    given = scene(*machines, pods=waiting, limits={"max": 120}, headroom=[everything]).snapshot()
    known = prepare(given)
    looks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(headroom_release, "limits_left", lambda *a: looks.append(1) or limits_left(*a))
        decided = decide(known, pack, unwatched)
    assert 0 < len(looks) <= 50
    assert 0 < 120 - len(decided.headroom.machines) <= 50
