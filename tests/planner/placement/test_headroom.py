"""Headroom: bought where it has no room, kept on the cheapest machines, never in the way of a pod, never bought twice.

Source: the balloon pods of Cluster Autoscaler, FAQ, "How can I configure overprovisioning with Cluster Autoscaler?",
and its CapacityBuffer, which is room for pods that do not exist; docs/pools.md#headroom.
"""

from decimal import Decimal

import pytest

from tests.builders import before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene

IDLE = {"growth.dev/idle-since": before(minutes=11)}


def room(count=1, cpu="1", memory="1Gi"):
    return {"requests": {"cpu": cpu, "memory": memory}, "count": count}


def short(made):
    found = [each for report in made.pools for each in report.status.conditions if each.type == "HeadroomShort"]
    return [(each.status, each.reason, each.message) for each in found if each.status == "True"]


def going(made):
    return [removal.node for removal in made.removals]


def test_it_is_bought_without_any_pod_at_the_least_price():
    made = planned(scene(headroom=[room(4)]))
    assert types(made) == ["cx32"], "four cores for 0.0106, where two cx22 cost 0.0132"
    (request,) = made.requests
    assert (request.seats, request.headroom) == ((), 4)
    assert request.why == ("For headroom of 4 pods of pool default: cpu 100 %, memory 50 %; next: cx42 for 0.017")
    assert (made.cost_per_hour, made.lower_bound_per_hour, made.optimal) == (Decimal("0.0106"), Decimal("0.0106"), True)
    assert made.result == "NoDemands"


def test_one_machine_for_pods_and_headroom_where_that_costs_less():
    made = planned(scene(pods=[pod("x", cpu="2", memory="1Gi")], headroom=[room(2)]))
    assert types(made) == ["cx32"]
    (request,) = made.requests
    assert ([seat.name for seat in request.seats], request.headroom) == (["x"], 2)
    assert request.why.startswith("For 1 pod and headroom of 2 pods of pool default: cpu 100 %")


def test_free_room_is_headroom_and_costs_nothing():
    given = scene(node("a", "cx32"), pods=[pod("x", cpu="2", node="a")], headroom=[room(2)])
    assert planned(given).requests == ()
    given.pods.append(pod("y", node="a"))
    assert types(planned(given)) == ["cx22"], "a pod took some of it, and it is bought again"


def test_a_machine_on_its_way_has_room_for_it():
    for status in ({"phase": "Pending"}, {"phase": "Provisioning"}):
        made = planned(scene(node_request("n", "cx32", **status), headroom=[room(4)]))
        assert (made.requests, made.cancelled, short(made)) == ((), (), [])


def test_a_request_that_it_does_not_need_any_more_is_cancelled():
    waiting = node_request("n", "cx32", phase="Pending")
    assert planned(scene(waiting, headroom=[room(1)])).cancelled == ()
    assert planned(scene(waiting, node("a"), headroom=[room(1)])).cancelled == ("n",)


def test_an_empty_machine_stays_for_it_and_is_not_marked_as_idle():
    made = planned(scene(node("a", annotations=IDLE), headroom=[room(2)]))
    assert (going(made), dict(made.idle_since), made.requests) == ([], {"a": None}, ())


def test_of_empty_machines_the_dearer_one_goes():
    machines = [node("a", "cx42", annotations=IDLE), node("b", "cx22", annotations=IDLE)]
    assert going(planned(scene(*machines, headroom=[room(2)]))) == ["a"]
    assert going(planned(scene(*machines, headroom=[room(3)]))) == ["b"], "only the large one has room for three"


def test_the_least_price_keeps_it_not_the_fewest_machines():
    machines = [node("a", "cx42", annotations=IDLE), *(node(n, "cx22", annotations=IDLE) for n in "bc")]
    assert going(planned(scene(*machines, headroom=[room(4)]))) == ["a"], "0.0132 instead of 0.0170"


def test_of_equal_machines_the_one_stays_that_was_needed_before():
    first = planned(scene(node("a"), node("b"), headroom=[room(2)]))
    (idle,) = first.idle_since
    machines = [node(n, annotations=IDLE if n == idle else None) for n in "ab"]
    assert going(planned(scene(*machines, headroom=[room(2)]))) == [idle]
    assert going(planned(scene(*reversed(machines), headroom=[room(2)]))) == [idle]


def test_room_beside_pods_is_used_before_an_empty_machine():
    busy = [node("a", "cx42"), pod("x", node="a")]
    assert going(planned(scene(*busy, node("b", annotations=IDLE), headroom=[room(2)]))) == ["b"]


def test_what_the_minimum_of_a_type_keeps_is_room_for_it():
    machines = [node("a", "cx42"), node("b", annotations=IDLE)]
    cx42 = {"name": "cx42", "min": 1}
    assert going(planned(scene(*machines, types=["cx22", cx42], headroom=[room(2)]))) == ["b"]


def test_a_minimum_that_is_bought_is_room_for_it():
    made = planned(scene(types=["cx22", {"name": "cx42", "min": 1}], headroom=[room(4)]))
    assert types(made) == ["cx42"]


def test_pods_come_first_where_a_limit_binds():
    given = scene(types=["cx22"], limits={"max": 1}, pods=[pod("x", cpu="1500m")], headroom=[room(1)])
    made = planned(given)
    assert [[seat.name for seat in request.seats] for request in made.requests] == [["x"]]
    assert short(made) == [
        (
            "True",
            "LimitReached",
            "headroom[0]: 1 of 1 pods of cpu 1, memory 1Gi has no room: pool default is at its max of 1 machines",
        )
    ]


def test_a_larger_machine_is_bought_for_both_where_a_limit_binds():
    made = planned(scene(limits={"max": 1}, pods=[pod("x", cpu="1500m")], headroom=[room(1)]))
    assert (types(made), short(made)) == (["cx32"], [])


def test_headroom_that_no_type_holds_stops_nothing_else():
    made = planned(scene(pods=[pod("x")], headroom=[room(1, cpu="64"), room(1)]))
    ((_, reason, message),) = short(made)
    assert reason == "TooLarge"
    assert message.startswith("headroom[0]: 1 of 1 pods of cpu 64, memory 1Gi has no room: no machine of pool default")
    assert (codes(made), types(made)) == ({}, ["cx22"])


def test_a_paused_pool_buys_none():
    made = planned(scene(paused=True, headroom=[room(1)]))
    assert (made.requests, [reason for _, reason, _ in short(made)]) == ((), ["PoolPaused"])


def test_a_condition_is_over_once_there_is_room():
    given = scene(limits={"max": 1}, headroom=[room(1)])
    condition = {
        "type": "HeadroomShort",
        "status": "True",
        "reason": "LimitReached",
        "message": "",
        "lastTransitionTime": before(hours=1),
    }
    given.pools[0]["status"] = {"conditions": [condition]}
    (over,) = [each for each in planned(given).pools[0].status.conditions if each.type == "HeadroomShort"]
    assert (over.status, over.reason) == ("False", "NoHeadroomShort")


def test_another_pools_machines_are_no_room_for_it():
    pools = [node_pool("default", limits={"max": 9}, headroom=[room(1)]), node_pool("other", limits={"max": 9})]
    made = planned(scene(node("a", pool="other"), pod("x", node="a"), pools=pools))
    assert [request.pool for request in made.requests] == ["default"]


def test_it_tolerates_the_taints_of_its_pool():
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    given = scene(node("a", taints=taints), template={"taints": taints}, headroom=[room(2)])
    assert planned(given).requests == ()


def test_a_machine_that_goes_comes_back_only_where_there_is_no_other_room():
    leaving = node_removal_request("a", taintedAt=before(seconds=20), scaleDownAt=before(seconds=-40))
    tainted = node("a", taints=[{"key": "growth.dev/scale-down", "effect": "NoSchedule"}])
    made = planned(scene(tainted, leaving, headroom=[room(2)]))
    assert [(cancel.removal, cancel.pods, cancel.why) for cancel in made.removal_cancels] == [
        ("a", (), "The headroom of pool default needs its room")
    ]
    assert made.requests == ()
    made = planned(scene(tainted, leaving, node("b"), headroom=[room(2)]))
    assert (made.removal_cancels, made.requests) == ((), ())


def test_a_pod_gets_the_room_of_a_machine_that_was_bought_for_headroom():
    given = scene(node_request("n", "cx32", phase="Provisioning"), pods=[pod("x", cpu="3")], headroom=[room(4)])
    made = planned(given)
    assert [(placed.pod, placed.request) for placed in made.placed] == [("default/x", "n")]
    assert [(request.headroom, request.seats) for request in made.requests] == [(3, ())]


@pytest.mark.parametrize("count", [1, 16])
def test_no_pod_of_it_is_ever_named(count):
    made = planned(scene(node("a", "cx32"), node_request("n", phase="Provisioning"), headroom=[room(count)] * 3))
    assert (made.placed, made.unplaced, made.events, dict(made.reservations)) == ((), (), (), {})
    assert all(not request.seats for request in made.requests)


def test_many_pods_of_it_cost_one_decision():
    made = planned(scene(headroom=[room(1000, cpu="100m", memory="100Mi")], limits={"max": 100}))
    assert sum(request.headroom for request in made.requests) == 1000
    assert short(made) == []


def test_what_a_minimum_keeps_and_what_it_needs_beside_that_both_stay():
    coming = [node_request(f"default-{n}", "cx22", phase="Pending") for n in range(2)]
    made = planned(scene(*coming, types=[{"name": "cx22", "min": 1}], headroom=[room(3, memory="2Gi")]))
    assert (made.cancelled, made.requests) == ((), ())


def test_no_machine_that_is_there_goes_for_one_that_is_only_coming():
    coming = node_request("n", "cx42", phase="Provisioning", seats=[])
    made = planned(scene(node("a", annotations=IDLE), coming, headroom=[room(2)]))
    assert (going(made), made.cancelled) == ([], ())


def test_no_machine_goes_for_the_room_of_one_whose_pods_may_never_come():
    given = scene(node("a", annotations=IDLE), node("b", "cx42"), pod("x", cpu="3"), headroom=[room(2)])
    made = planned(given)
    assert ([placed.node for placed in made.placed], going(made)) == (["b"], [])
