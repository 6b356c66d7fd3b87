"""Deadlines: when they are judged, what a wait says of its own, and what the object says of one that has passed.

Sources: issue 16, B4 (time in which nobody could see or join does not count); issue 17, section 4 (at a wait's deadline
and a second, what it says has happened, or the object says why not and names the next one). A wait without a deadline
says how often it is looked at.
"""

import re
from datetime import UTC, datetime, timedelta

import pytest

from api.duration import format_duration
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle import removal, request
from planner.lifecycle.arrival.effect import RequestEffect
from planner.lifecycle.clocks.deadlines import LATE, named_deadline, with_grace
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import (
    NodeSeen,
    RemovalObservation,
    RemovalTimings,
    RequestObservation,
    RequestTimings,
    ServerSeen,
)
from planner.lifecycle.step import SENTENCE_CHARACTERS, Act, Wait
from tests.planner.lifecycle import test_removal, test_request, test_request_late, test_slow_starts

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
LONG = RequestTimings()
SHORT = RequestTimings(provisioning_timeout=timedelta(seconds=40), join_timeout=timedelta(seconds=40))


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize("name", ["provisioning_deadline", "join_deadline"])
@pytest.mark.parametrize(
    ("deadline", "since", "timings", "judged"),
    [
        (ago(9), None, LONG, ago(9)),
        (ago(9), ago(200), LONG, ago(9)),
        (ago(9), ago(90), LONG, ago(-30)),
        (ago(9), NOW, LONG, ago(-120)),
        (ago(9), NOW, SHORT, ago(-40)),
        (ago(9), ago(60), SHORT, ago(9)),
        (ago(-300), NOW, LONG, ago(-300)),
        (None, NOW, LONG, None),
    ],
)
def test_a_wait_is_judged_when_it_could_be_seen_for_long_enough(name, deadline, since, timings, judged):
    status = NodeRequestStatus(**{name: deadline})
    assert with_grace(status, timings, since) == NodeRequestStatus(**{name: judged})


def test_a_reservation_has_all_its_time():
    status = NodeRequestStatus(release_by=ago(9))
    assert with_grace(status, LONG, ago(20)).release_by == ago(-40)
    assert with_grace(status, LONG, ago(80)).release_by == ago(9)


def test_no_other_time_changes():
    status = NodeRequestStatus(expires_at=ago(9), create_attempt_at=ago(100), running_at=ago(50))
    assert with_grace(status, LONG, NOW) == status


REQUESTS = test_request.ROWS | test_request_late.ROWS | test_slow_starts.ROWS
REQUEST_WAITS = {name: row[0] for name, row in REQUESTS.items() if row[1] is Wait and row[3] is not None}
REMOVAL_WAITS = {name: row[0] for name, row in test_removal.ROWS.items() if row[2] is Wait and row[4] is not None}
EACH_REQUEST_WAIT = {name: row[0] for name, row in REQUESTS.items() if row[1] is Wait}
EACH_REMOVAL_WAIT = {name: row[:2] for name, row in test_removal.ROWS.items() if row[2] is Wait}
ANNOUNCED = {
    RequestEffect.MARK_TRIED: "its planned pods have the time of its reservation to land",
    RequestEffect.MARK_READY: "the machine counts as Ready",
    RequestEffect.RELEASE_NODE: "the node opens for all pods",
    RequestEffect.GIVE_UP: "the server is removed",
    RequestEffect.FINISH: "this record goes",
    RemovalEffect.CANCEL: "the removal is cancelled",
    RemovalEffect.DRAIN: "its pods leave",
    RemovalEffect.TELL_BLOCKERS: "goes once those that are on it have ended",
    RemovalEffect.TELL_DEADLINE: "pods and Node are told how long they have",
    RemovalEffect.EVICT: "pods",
    RemovalEffect.LEAVE_BALANCERS: "load balancers are asked to leave the node out",
    RemovalEffect.COMMIT: "its server is deleted",
    RemovalEffect.DELETE_SERVER: "the provider is asked to delete the server",
    RemovalEffect.DELETE_NODE: "the Node object is deleted",
    RemovalEffect.PARK: "the removal waits for a person",
    RemovalEffect.RESUME: "the server is deleted again",
    RemovalEffect.UNTAINT_NODE: "the removal ends, and the node takes pods again",
    RemovalEffect.FINISH: "the removal ends",
}
"""What people read of an effect before it is carried out."""


def check_at_deadline(wait, decide):
    """Assert that a second after the deadline what was announced happens, or that another wait says why not."""
    after = decide(wait.until + timedelta(seconds=1))
    consequence = wait.message.partition(" the deadline")[2]
    if isinstance(after, Act):
        assert ANNOUNCED[after.effect] in consequence
    else:
        assert isinstance(after, Wait)
        assert after.until is None or after.until > wait.until + timedelta(seconds=1)
        assert after.message.partition(". A")[0] in consequence


@pytest.mark.parametrize("seen", REQUEST_WAITS.values(), ids=REQUEST_WAITS)
def test_at_the_deadline_of_a_request_happens_what_its_wait_says(seen):
    check_at_deadline(request.next_step(seen, NOW), lambda at: request.next_step(seen, at))


@pytest.mark.parametrize("seen", REMOVAL_WAITS.values(), ids=REMOVAL_WAITS)
def test_at_the_deadline_of_a_removal_happens_what_its_wait_says(seen):
    check_at_deadline(removal.next_step(seen, None, NOW), lambda at: removal.next_step(seen, None, at))


def check_says_when(wait):
    """Assert that a wait tells what is awaited, and what comes at its deadline or how often it is looked at."""
    assert re.match(r"\w", wait.message)
    if wait.until is None:
        assert re.search(rf"\w.*[.;] .* again every {format_duration(wait.look_every)}\b", wait.message)
    else:
        assert re.search(r"[\w)]\. (At|After) the deadline", wait.message)


@pytest.mark.parametrize("seen", EACH_REQUEST_WAIT.values(), ids=EACH_REQUEST_WAIT)
def test_each_wait_of_a_request_says_what_its_deadline_brings_or_how_often_it_is_looked_at(seen):
    check_says_when(request.next_step(seen, NOW))


@pytest.mark.parametrize(("seen", "decision"), EACH_REMOVAL_WAIT.values(), ids=EACH_REMOVAL_WAIT)
def test_each_wait_of_a_removal_says_what_its_deadline_brings_or_how_often_it_is_looked_at(seen, decision):
    check_says_when(removal.next_step(seen, decision, NOW))


@pytest.mark.parametrize(
    ("seen", "then"),
    [
        (test_request.registered(), "the server is removed"),
        # Nobody may take a machine from under a pod: the machine stays, whatever its Node says.
        (test_request.registered(bound=1), "the machine counts as Ready"),
        (test_request.registered(node=NodeSeen(name="a", ready=True, missing="no GPU yet")), "the node opens"),
    ],
    ids=["not Ready", "not Ready, pod bound", "Ready, without what its pods need"],
)
def test_a_node_that_joined_says_what_its_own_deadline_brings(seen, then):
    assert then in request.next_step(seen, NOW).message


def test_the_last_delete_call_announces_that_a_person_is_needed():
    status = {"removal_attempts": 3, "remove_attempted_at": NOW}
    seen = RemovalObservation(
        status=NodeRemovalRequestStatus(phase=RemovalPhase.DEPROVISIONING, **status),
        server=ServerSeen.RUNNING,
        timings=RemovalTimings(max_attempts=3),
    )
    assert "At the deadline the removal waits for a person" in removal.next_step(seen, None, NOW).message


def test_long_words_of_others_hide_no_consequence():
    status = NodeRequestStatus(phase=RequestPhase.FAILED, message="x" * 1024, expires_at=NOW + timedelta(minutes=1))
    message = request.next_step(RequestObservation(status=status), NOW).message
    assert len(message) <= SENTENCE_CHARACTERS
    assert message.endswith("At the deadline this record goes. The offering may be tried again")


def late_request(named, judged, **fields):
    status = NodeRequestStatus(
        phase=RequestPhase.PROVISIONING, running_at=ago(300), create_attempt_at=ago(400), join_deadline=judged
    )
    return RequestObservation(status=status, server=ServerSeen.RUNNING, named_deadline=named, **fields)


def test_an_object_says_that_its_deadline_has_passed_and_which_holds():
    step = request.next_step(late_request(ago(1), ago(-60)), NOW)
    assert isinstance(step, Act)
    assert (step.effect, step.reason) == (RequestEffect.TELL_DELAY, LATE)
    assert step.message == (
        "Due at 2026-11-01 11:59:59 UTC, and still awaited until 2026-11-01 12:01:00 UTC, as Growth or the API server "
        "was away, and nobody could see it. Waits for its node to become Ready. At the deadline the server is removed"
    )


def test_it_says_so_once():
    seen = late_request(ago(1), ago(-60))
    told = request.next_step(seen, NOW)
    status = seen.status.model_copy(update={"reason": LATE, "message": told.message})
    again = request.next_step(seen.model_copy(update={"status": status}), NOW)
    assert isinstance(again, Wait)
    assert again.until == ago(-60)


def test_before_its_deadline_and_for_objects_of_earlier_versions_nothing_is_told():
    assert isinstance(request.next_step(late_request(ago(-1), ago(-60)), NOW), Wait)
    assert isinstance(request.next_step(late_request(None, ago(-60)), NOW), Wait)


def test_a_server_that_its_provider_still_works_on_says_so_on_its_object():
    seen = test_request.provisioning({"provisioning_deadline": ago(1)}, server_progresses=True)
    step = request.next_step(seen.model_copy(update={"named_deadline": ago(1)}), NOW)
    assert isinstance(step, Act)
    assert "The server is late, but its provider still works on it" in step.message


def test_a_dead_machine_that_is_judged_later_than_its_cool_off_says_so():
    status = NodeRemovalRequestStatus(scale_down_at=ago(1), tainted_at=ago(60))
    seen = RemovalObservation(
        status=status,
        node=NodeSeen(name="a", ready=False, scale_down=True),
        judged_at=ago(-90),
        named_deadline=ago(1),
    )
    step = removal.next_step(seen, None, NOW)
    assert isinstance(step, Act)
    assert (step.effect, step.reason) == (RemovalEffect.TELL_BLOCKERS, LATE)
    assert "still awaited until 2026-11-01 12:01:30 UTC" in step.message


@pytest.mark.parametrize(
    ("status", "deadline"),
    [
        ({"phase": "Provisioning", "provisioning_deadline": ago(5)}, ago(5)),
        ({"phase": "Provisioning", "running_at": ago(9), "join_deadline": ago(4)}, ago(4)),
        ({"phase": "Ready", "release_by": ago(3)}, ago(3)),
        ({"phase": "Ready", "release_by": ago(3), "released_at": ago(3)}, None),
        ({"phase": "Unmet", "expires_at": ago(3)}, None),
        ({}, None),
    ],
)
def test_the_deadline_that_a_request_names(status, deadline):
    assert named_deadline(NodeRequestStatus(**status)) == deadline
