"""Reservations: who holds a seat, who inherits one, and which request has to be written.

Source: docs/design.md#round, docs/design.md#lifecycles.
"""

import pytest

from planner.plan import plan
from tests.builders import NOW, after, before, node, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat


def test_a_pod_with_a_seat_counts_as_placed_and_nothing_is_written():
    a = pod("a")
    made = planned(scene(a, requests=[node_request("m", seats=[seat(a)])]))
    assert [(p.pod, p.request) for p in made.placed] == [("default/a", "m")]
    assert made.reservations == {}
    assert made.requests == ()


def test_a_seat_goes_to_the_successor_of_a_pod_that_is_gone():
    gone, successor = pod("web-1", owner="rs"), pod("web-2", owner="rs")
    made = planned(scene(successor, requests=[node_request("m", seats=[seat(gone)])]))
    assert [s.name for s in made.reservations["m"]] == ["web-2"]
    assert [(p.pod, p.request) for p in made.placed] == [("default/web-2", "m")]


def test_a_successor_may_inherit_before_the_scheduler_has_judged_it():
    gone, successor = pod("web-1", owner="rs"), pod("web-2", owner="rs")
    successor["status"] = {"phase": "Pending"}
    made = plan(scene(successor, requests=[node_request("m", seats=[seat(gone)])]).snapshot())
    assert [s.name for s in made.reservations["m"]] == ["web-2"]
    assert made.result == "NoDemands"


def test_no_heir_without_the_same_owner_and_class():
    gone = pod("web-1", owner="rs")
    other_owner, other_class = pod("x", owner="other"), pod("y", "600m", owner="rs")
    given = scene(requests=[node_request("m", seats=[seat(gone)], createAttemptAt=before(seconds=2))])
    assert planned(given).reservations == {"m": ()}
    given.pods = [other_owner, other_class]
    # They do not inherit: as many as fit join like anybody else.
    given.pods[0]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    assert [s.name for s in planned(given).reservations["m"]] == ["y"]


def test_a_larger_pod_of_the_same_owner_inherits_no_seat():
    """The machine, of 2 CPUs, was bought for pods as large as the one that is gone."""
    gone, larger = pod("web-1", owner="rs"), pod("web-2", "3", owner="rs")
    made = planned(scene(larger, requests=[node_request("m", seats=[seat(gone)], createAttemptAt=before(seconds=2))]))
    assert made.reservations == {"m": ()}
    assert [s.name for s in made.requests[0].seats] == ["web-2"]


def test_a_successor_inherits_one_seat_only():
    seats = [seat(pod(name, "1", owner="rs")) for name in ("web-1", "web-2")]
    only, other = pod("web-3", "1", owner="rs"), pod("x", "1", owner="other")
    made = planned(scene(only, other, requests=[node_request("m", seats=seats)]))
    # The second seat is free, so that whoever fits there, beside the heir, joins.
    assert [s.name for s in made.reservations["m"]] == ["web-3", "x"]
    assert made.requests == ()


def test_a_successor_inherits_the_seat_of_one_machine_only():
    seats = {name: [seat(pod(f"gone-{name}", owner="rs"))] for name in ("m", "n")}
    requests = [node_request(name, seats=held, createAttemptAt=before(seconds=2)) for name, held in seats.items()]
    made = planned(scene(pod("web-3", owner="rs"), requests=requests))
    assert {name: [s.name for s in held] for name, held in made.reservations.items()} == {"m": ["web-3"], "n": []}


def test_a_pod_bound_elsewhere_gives_its_seat_back():
    a = pod("a", node="n")
    given = scene(
        a, nodes=[node("n")], requests=[node_request("m", seats=[seat(a)], createAttemptAt=before(seconds=2))]
    )
    assert planned(given).reservations == {"m": ()}


def test_a_pod_bound_to_its_machine_keeps_its_seat_so_that_nothing_is_written():
    a = pod("a", node="m")
    given = scene(
        a, nodes=[node("m")], requests=[node_request("m", seats=[seat(a)], phase="Ready", readyAt=before(minutes=1))]
    )
    assert planned(given).reservations == {}


def test_a_ready_machine_takes_only_pods_with_a_seat_until_it_is_released():
    a, b, c = pod("a"), pod("b"), pod("c", "1800m")
    status = {"phase": "Ready", "readyAt": before(seconds=20)}
    held = scene(a, b, c, nodes=[node("m")], requests=[node_request("m", seats=[seat(a)], **status)])
    made = planned(held)
    assert [(p.pod, p.node) for p in made.placed] == [("default/a", "m"), ("default/b", "m")]
    assert [s.name for s in made.reservations["m"]] == ["a", "b"]
    assert [s.name for s in made.requests[0].seats] == ["c"]
    held.pools[0]["spec"]["scaleUp"] = {"reserve": False}
    assert [(p.pod, p.node) for p in plan(held.snapshot()).placed] == [("default/a", "m")]
    released = scene(
        a, b, nodes=[node("m")], requests=[node_request("m", seats=[seat(a)], releasedAt=before(seconds=1), **status)]
    )
    assert {(p.pod, p.node) for p in planned(released).placed} == {("default/a", "m"), ("default/b", "m")}


def test_a_ready_machine_without_a_node_holds_no_seat():
    a = pod("a")
    status = {"phase": "Ready", "readyAt": before(seconds=20)}
    assert len(planned(scene(a, requests=[node_request("m", seats=[seat(a)], **status)])).requests) == 1


def test_a_pod_holds_one_seat_only():
    a = pod("a")
    given = scene(
        a,
        requests=[
            node_request("m", seats=[seat(a)]),
            node_request("n", seats=[seat(a)], createAttemptAt=before(seconds=1)),
        ],
    )
    made = plan(given.snapshot())
    assert made.reservations == {"n": ()}
    assert [(p.pod, p.request) for p in made.placed] == [("default/a", "m")]


@pytest.mark.parametrize(("joins_by", "bought"), [(after(seconds=1), 0), (NOW, 1)], ids=["starts", "late"])
def test_a_machine_whose_reservation_ended_is_waited_for_until_its_time_to_join_is_over(joins_by, bought):
    """The API server refused to let its pods onto it: bought again, they would be refused there as well."""
    a = pod("a")
    status = {"phase": "Provisioning", "registeredAt": before(minutes=2), "releasedAt": before(seconds=9)}
    request = node_request("m", seats=[seat(a)], joinDeadline=joins_by, **status)
    assert len(planned(scene(a, requests=[request])).requests) == bought


@pytest.mark.parametrize("state", [{"phase": "Provisioning"}, {"phase": "Ready", "readyAt": before(seconds=2)}])
def test_pods_on_a_node_that_is_not_seen_yet_have_their_room_and_their_seat(state):
    """Two watches tell of pods and Nodes, and one may be late."""
    a, b = pod("a", "1500m", node="m"), pod("b", "1500m")
    made = planned(scene(a, b, requests=[node_request("m", seats=[seat(a)], **state)]))
    assert "m" not in made.reservations
    assert [s.name for s in made.requests[0].seats] == ["b"]


def test_new_pods_join_only_where_they_fit_beside_the_seats():
    a, b, c = pod("a", "1500m"), pod("b", "400m"), pod("c", "400m")
    made = planned(scene(a, b, c, requests=[node_request("m", seats=[seat(a)])]))
    assert [s.name for s in made.reservations["m"]] == ["a", "b"]
    assert [s.name for s in made.requests[0].seats] == ["c"]
