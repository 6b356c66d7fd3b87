"""What planner and scheduler see differently is remembered, so that nothing is bought again and again for it.

Source: docs/design.md#refused-placements; Karpenter and Cluster Autoscaler issues about pods that never schedule on
the node that was bought for them.
"""

from datetime import timedelta

import pytest

from planner.plan import plan
from planner.policies.refused_placements import FIRST_WAIT, LONGEST_WAIT
from tests.builders import NOW, before, node, node_removal_request, node_request
from tests.planner.policies.placements import (
    WORDS,
    bought,
    ended,
    entries,
    made_late,
    reasons,
    refused,
    running,
    scene,
    unbound,
    waiting,
)
from tests.planner.scenes import seat

# Reservations that ended without their pods.


def test_the_type_of_a_reservation_that_ended_unbound_is_not_bought_again():
    made = plan(unbound().snapshot())
    assert bought(made) == ["cx32"]
    known = entries(made)
    assert set(known) == {("cx22", "m"), (None, "m")}
    entry = known["cx22", "m"]
    assert (entry.failures, entry.until, entry.pod) == (1, NOW + FIRST_WAIT, "web")
    assert entry.message == WORDS


def test_an_event_names_pod_node_and_the_schedulers_words():
    (event,) = [event for event in plan(unbound().snapshot()).events if event.reason == "PlacementRefused"]
    assert (event.kind, event.namespace, event.name) == ("Pod", "default", "web")
    assert "default/web" in event.message
    assert "node m" in event.message
    assert WORDS in event.message
    assert "until 2026-03-01T12:10:00Z" in event.message


def test_with_all_types_refused_nothing_is_bought_and_the_pod_is_told_why():
    web = waiting()
    made = plan(scene(web, remembers=[refused(web, type_="cx22"), refused(web, type_="cx32")]).snapshot())
    assert bought(made) == []
    assert [code for code, _ in reasons(made)] == ["PlacementRefused"] * 2
    assert "buys no cx22 for such pods until 2026-03-01T12:09:00Z" in reasons(made)[0][1]
    assert WORDS in reasons(made)[0][1]
    assert made.memory.backoff == {}
    assert made.wake_at == NOW + timedelta(minutes=9)


def test_what_is_concluded_once_is_not_concluded_again_in_the_next_round():
    first = plan(unbound().snapshot())
    stored = [entry.to_json() for entry in first.pools[0].status.refused_placements]
    second = plan(unbound(remembers=stored).snapshot())
    assert [entry.to_json() for entry in second.pools[0].status.refused_placements] == stored
    assert not [event for event in second.events if event.reason == "PlacementRefused"]


@pytest.mark.parametrize(
    ("failures", "wait"), [(1, FIRST_WAIT * 2), (2, FIRST_WAIT * 4), (6, LONGEST_WAIT), (5000, LONGEST_WAIT)]
)
def test_each_further_refusal_doubles_the_wait_up_to_six_hours(failures, wait):
    over = {"until": before(minutes=4), "lastRefusedAt": before(hours=1), "failures": failures}
    made = plan(unbound(remembers=[refused(waiting(), type_="cx22", nodes=["gone"], **over)]).snapshot())
    (entry,) = [entry for entry in entries(made).values() if entry.server_type]
    assert (entry.failures, entry.until) == (failures + 1, NOW + wait)


def test_machines_that_were_under_way_together_count_once():
    web, twin = waiting(), waiting("twin", "1500m")
    two = [ended("m", seats=[seat(web)]), ended("n", seats=[seat(web)])]
    made = plan(unbound(requests=two, nodes=[made_late("m"), made_late("n")]).snapshot())
    assert {entry.failures for entry in entries(made).values()} == {1}
    assert twin["metadata"]["name"] == "twin"


def test_long_after_the_last_wait_the_doubling_begins_anew():
    over = {"until": before(hours=2), "lastRefusedAt": before(hours=8), "failures": 6}
    made = plan(unbound(remembers=[refused(waiting(), type_="cx22", **over)]).snapshot())
    assert entries(made)["cx22", "m"].failures == 1


@pytest.mark.parametrize(
    "change",
    [
        {"requests": [ended(seats=[seat(waiting())], releasedAt=before(seconds=30))]},  # its pods had not all the time
        {"requests": [ended(seats=[seat(waiting())], readyAt=None)]},
        {"requests": [ended(seats=[])]},
        {"requests": [ended(seats=[seat(waiting())], reason="NotTried")]},
        {"nodes": []},
        {"nodes": [made_late("m", ready=False)]},
        {"nodes": [made_late("m", spec={"unschedulable": True})]},
        {"nodes": [made_late("m", taints=[{"key": "growth.dev/remove-now", "effect": "NoSchedule"}])]},
    ],
)
def test_nothing_is_concluded_of_a_reservation_that_did_not_end_unbound_on_a_ready_node(change):
    assert entries(plan(unbound(**change).snapshot())).keys() <= {(None,)}


def test_a_machine_that_goes_for_want_of_the_pod_teaches_all_the_same():
    """Else the next one would be bought for the same pod, and go for want of it, again and again."""
    leaving = [node_removal_request("m", "cx22", phase="Pending", taintedAt=before(seconds=1))]
    assert ("cx22", "m") in entries(plan(unbound(removals=leaving).snapshot()))


def test_nothing_is_concluded_while_no_scheduler_has_tried():
    given = unbound()
    given.pods = [waiting(message="0/1 nodes are available: 1 Insufficient cpu.")]
    made = plan(given.snapshot())
    assert not [entry for entry in entries(made).values() if entry.until]


def test_words_about_as_many_nodes_as_there_are_now_show_that_the_new_one_was_tried():
    given = unbound()
    given.pods = [waiting()]
    assert ("cx22", "m") in entries(plan(given.snapshot()))


def test_pods_bound_beside_those_that_wait_show_that_their_class_may_be_there():
    beside = running("beside", on="m", since=before(seconds=50))
    given = unbound()
    given.pods.append(beside)
    assert not [entry for entry in entries(plan(given.snapshot())).values() if entry.until]


def test_gated_deleted_and_finished_pods_teach_nothing():
    for changed in ({"schedulingGates": [{"name": "quota"}]}, {"deleting": True}, {"phase": "Failed"}):
        given = unbound()
        given.pods[0] = waiting(**changed)
        assert not entries(plan(given.snapshot()))


# Of which pods and types it holds.


def test_others_are_not_concerned():
    web = waiting()
    foreign = waiting(namespace="tenant")
    larger = waiting("larger", "700m")
    other_scheduler = waiting("special", schedulerName="special")
    remembers = [refused(web, type_="cx22"), refused(web, type_="cx32")]
    for free in (foreign, larger, other_scheduler):
        made = plan(scene(web, free, remembers=remembers).snapshot())
        assert [s.name for r in made.requests for s in r.seats] == [free["metadata"]["name"]]
        assert [u.pod for u in made.unplaced] == ["default/web"]


def test_a_pod_of_a_changed_template_is_free_again():
    old = waiting()
    new = waiting(nodeSelector={"kubernetes.io/arch": "amd64"})
    made = plan(scene(new, remembers=[refused(old, type_="cx22"), refused(old, type_="cx32")]).snapshot())
    assert bought(made) == ["cx22"]


def test_such_pods_are_not_planned_onto_a_coming_machine_of_the_type_either():
    web = waiting()
    coming = node_request("soon", "cx22", seats=[], phase="Provisioning", createAttemptAt=before(seconds=9))
    made = plan(scene(web, requests=[coming], remembers=[refused(web, type_="cx22")]).snapshot())
    assert bought(made) == ["cx32"]
    assert made.placed == ()


def test_after_the_wait_it_is_tried_again():
    web = waiting()
    over = {"until": before(seconds=1)}
    made = plan(scene(web, remembers=[refused(web, type_="cx22", **over)]).snapshot())
    assert bought(made) == ["cx22"]
    assert entries(made)["cx22",].failures == 1


def test_a_pod_of_the_class_that_was_bound_on_the_type_ends_it():
    web = waiting()
    twin = running("twin", on="n", since=before(seconds=5))
    known = refused(web, type_="cx22", podUid="gone")
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == ["cx22"]
    assert not entries(made)


def test_pods_of_the_class_that_ran_there_before_do_not():
    web = waiting()
    twin = running("twin", on="n", since=before(hours=5))
    known = refused(web, type_="cx22", podUid="gone")
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == ["cx32"]


@pytest.mark.parametrize(("failures", "types"), [(1, ["cx22"]), (2, ["cx32"])])
def test_while_the_refused_pod_waits_another_ends_it_once_and_then_no_more(failures, types):
    """Else pods that differ in what only the scheduler sees would free each other again and again."""
    web = waiting()
    twin = running("twin", on="n", since=before(seconds=5))
    known = refused(web, type_="cx22", failures=failures)
    made = plan(scene(web, twin, nodes=[node("n", allocatable={"cpu": "600m"})], remembers=[known]).snapshot())
    assert bought(made) == types
    assert [entry.failures for entry in entries(made).values()] == [failures]
