"""Expendable pods: nothing is bought for them, nothing is kept for them, and placeholders above the cutoff buy.

Source: Cluster Autoscaler, FAQ, "How does Cluster Autoscaler work with Pod Priority and Preemption?": pods with a
priority below `expendable-pods-priority-cutoff` (-10) "don't trigger scale-ups" and "don't prevent scale-downs"; "How
can I configure overprovisioning with Cluster Autoscaler?": pause pods of priority -1 or -10 buy, and are preempted.
"""

import pytest

from tests.builders import before, disruption_budget, node, node_pool, node_removal_request, node_request, pod
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene

IDLE = {"growth.dev/idle-since": before(minutes=11)}
CUTOFF = {"expendablePriority": -10}


def with_priority(raw, priority):
    raw["spec"]["priority"] = priority
    return raw


def expendable(name="x", priority=-11, **parts):
    return with_priority(pod(name, **{"owner": name} | parts), priority)


@pytest.mark.parametrize(("priority", "buys"), [(-11, False), (-10, True), (-1, True), (0, True)])
def test_pods_below_the_cutoff_buy_nothing_and_those_at_it_do(priority, buys):
    made = planned(scene(expendable(priority=priority), scaleUp=CUTOFF))
    assert types(made) == (["cx22"] if buys else [])
    assert codes(made) == ({} if buys else {"x": "Expendable"})


def test_without_the_field_every_pod_buys():
    assert types(planned(scene(expendable(priority=-(2**31))))) == ["cx22"]


def test_the_reason_names_the_pool_and_its_field_and_is_no_miss():
    made = planned(scene(expendable(), scaleUp=CUTOFF))
    (unplaced,) = made.unplaced
    assert unplaced.reasons[0].message == (
        "no machine is bought for its priority -11, so it waits for free room "
        "(pool default: scaleUp.expendablePriority -10)"
    )
    assert made.memory.backoff == {}


def test_a_pool_without_a_cutoff_buys_for_pods_that_may_use_it():
    pools = [
        node_pool("a", limits={"max": 9}, scaleUp=CUTOFF, matchUnselectedPods=True),
        node_pool("b", types=["cx42"], limits={"max": 9}, matchUnselectedPods=True),
    ]
    assert [request.pool for request in planned(scene(expendable(), pools=pools)).requests] == ["b"]


def test_it_takes_no_seat_on_a_machine_that_comes():
    made = planned(scene(expendable(), node_request("n", phase="Provisioning"), scaleUp=CUTOFF))
    assert (codes(made), dict(made.reservations), made.requests) == ({"x": "Expendable"}, {}, ())


def test_it_brings_no_machine_back_that_goes():
    removal = node_removal_request("n", taintedAt=before(seconds=20), scaleDownAt=before(seconds=-40))
    made = planned(scene(expendable(), node("n"), removal, scaleUp=CUTOFF))
    assert made.removal_cancels == ()


@pytest.mark.parametrize(
    ("mode", "goes"), [("drain", [("n", "Consolidation", "Without other than expendable pods since")]), ("empty", [])]
)
def test_a_machine_with_none_but_expendable_pods_goes_where_pods_may_be_asked_to_leave(mode, goes):
    given = scene(node("n", annotations=IDLE), expendable(node="n"), scaleUp=CUTOFF, scaleDown={"mode": mode})
    made = planned(given)
    assert [(r.node, r.reason, r.why.rpartition(" ")[0]) for r in made.removals] == goes
    assert made.requests == ()


def test_a_pod_at_the_cutoff_keeps_its_machine():
    given = scene(
        node("n", annotations=IDLE), expendable(node="n", priority=-10), scaleUp=CUTOFF, scaleDown={"mode": "drain"}
    )
    assert planned(given).removals == ()


@pytest.mark.parametrize(
    "keeps",
    [
        {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
        {"owner": None},
    ],
)
def test_what_keeps_a_pod_keeps_an_expendable_one(keeps):
    given = scene(
        node("n", annotations=IDLE), expendable(node="n", **keeps), scaleUp=CUTOFF, scaleDown={"mode": "drain"}
    )
    made = planned(given)
    assert (made.removals, [each.node for each in made.blocked]) == ((), ["n"])


def test_a_disruption_budget_keeps_an_expendable_pod():
    given = scene(
        node("n", annotations=IDLE),
        expendable(node="n", labels={"app": "web"}),
        disruption_budget("web", {"app": "web"}, minAvailable=1),
        scaleUp=CUTOFF,
        scaleDown={"mode": "drain"},
    )
    made = planned(given)
    assert (made.removals, [each.node for each in made.blocked]) == ((), ["n"])


def test_headroom_may_have_the_room_of_expendable_pods():
    room = {"requests": {"cpu": "2", "memory": "1Gi"}, "count": 1}
    given = scene(node("n"), expendable(node="n", cpu="1500m"), scaleUp=CUTOFF, headroom=[room])
    assert planned(given).requests == (), (
        "pods that come preempt them; else each new machine would fill with them again"
    )
    given.pools[0]["spec"]["scaleUp"] = {}
    assert types(planned(given)) == ["cx22"]


def test_a_preempted_placeholder_buys_anew():
    """The pause pod of an overprovisioning chart lost its room to a real pod, and waits."""
    given = scene(
        node("n"),
        pod("real", cpu="2", node="n"),
        expendable("pause", priority=-1, cpu="2", memory="1Gi"),
        scaleUp=CUTOFF,
    )
    made = planned(given)
    assert [[seat.name for seat in request.seats] for request in made.requests] == [["pause"]]
