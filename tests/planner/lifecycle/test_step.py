"""How often what waits is looked at. Source: every look is ten events of its workflow's history."""

from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.removal import next_step as next_step_of_removal
from planner.lifecycle.request import next_step
from planner.lifecycle.seen import NodeSeen, RequestObservation, ServerSeen
from planner.lifecycle.step import Wait
from tests.planner.lifecycle import removals
from tests.planner.lifecycle.removals import ahead, cooling, draining, leaving, node

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
ROWS = [(0, 5), (20, 5), (40, 10), (200, 50), (240, 60), (3000, 60)]
"""Seconds of waiting so far, seconds to the next look: a quarter of the wait, from 5 to 60."""


def boots(waited):
    status = {"create_attempt_at": NOW - waited, "provisioning_deadline": LATER}
    return RequestObservation(
        status=NodeRequestStatus(phase=RequestPhase.PROVISIONING, **status), server=ServerSeen.CREATING
    )


def joins(waited):
    # Asked for long before: what counts is the wait for the Node.
    status = {"create_attempt_at": NOW - timedelta(hours=1), "running_at": NOW - waited, "join_deadline": LATER}
    return RequestObservation(
        status=NodeRequestStatus(phase=RequestPhase.PROVISIONING, **status), server=ServerSeen.RUNNING
    )


@pytest.mark.parametrize("waiting", [boots, joins])
@pytest.mark.parametrize(("waited", "look_every"), ROWS)
def test_the_longer_it_takes_the_rarer_it_is_looked_at(waiting, waited, look_every):
    step = next_step(waiting(timedelta(seconds=waited)), NOW)
    assert isinstance(step, Wait)
    assert step.look_every == timedelta(seconds=look_every)
    assert step.until == LATER


def test_a_boot_of_forty_minutes_takes_about_fifty_looks():
    asked, looks, now = NOW, 0, NOW
    while now < asked + timedelta(minutes=40):
        status = NodeRequestStatus(
            phase=RequestPhase.PROVISIONING, create_attempt_at=asked, provisioning_deadline=LATER
        )
        step = next_step(RequestObservation(status=status, server=ServerSeen.CREATING), now)
        assert isinstance(step, Wait)
        now = step.wake_at(now)
        looks += 1
    # One each 5 s for 20 s, then each a quarter of the wait later up to 240 s, then each 60 s; every 5 s would be 480.
    assert 48 <= looks <= 56


def is_kept(**seen):
    status = {"release_by": LATER, "create_attempt_at": NOW} | seen.pop("status", {})
    node = NodeSeen(name="n", ready=True, reserved=True)
    status = NodeRequestStatus(phase=RequestPhase.READY, **status)
    return RequestObservation(status=status, server=ServerSeen.RUNNING, node=node, seats=1, **seen)


WAITS = {
    "ServerBoot": boots(timedelta()),
    "NodeReady": joins(timedelta()),
    "PodsBind": is_kept(awaited=1),
    "OthersSettle": is_kept(unsettled=1, status={"settled_at": NOW}),
}


@pytest.mark.parametrize("reason", WAITS)
@pytest.mark.parametrize(("others", "look_every"), [(0, 5), (1, 5), (19, 5), (39, 10), (499, 125)])
def test_many_machines_together_look_no_more_often_than_a_few(reason, others, look_every):
    step = next_step(WAITS[reason].model_copy(update={"others": others}), NOW)
    assert isinstance(step, Wait)
    assert (step.reason, step.look_every) == (reason, timedelta(seconds=look_every))
    # All together: four looks a second, however many they are.
    assert (others + 1) / step.look_every.total_seconds() <= 4


GOING = {
    "CoolOff": (cooling(), 15),
    "ServerDeletion": (
        leaving({"removal_attempts": 1, "remove_attempted_at": NOW - timedelta(seconds=1)}, server=ServerSeen.DELETING),
        5,
    ),
}


@pytest.mark.parametrize("reason", GOING)
@pytest.mark.parametrize("others", [0, 19, 59, 499])
def test_many_removals_together_look_no_more_often_than_a_few(reason, others):
    seen, alone = GOING[reason]
    step = next_step_of_removal(seen.model_copy(update={"others": others}), None, NOW)
    assert isinstance(step, Wait)
    assert (step.reason, step.look_every) == (reason, timedelta(seconds=max(alone, (others + 1) / 4)))


@pytest.mark.parametrize(
    ("seen", "reason", "longest"),
    [
        (
            leaving({"detach_until": ahead(300), "excluded_at": ahead(3600)}, node=node(excluded=True)),
            "LoadBalancersLetGo",
            10,
        ),
        (draining({"tainted_at": ahead(3600)}, occupants=(), occupant_count=0), "TaintSettles", 5),
    ],
    ids=["balancers", "taint"],
)
def test_a_time_written_by_a_clock_that_was_set_right_since_is_waited_for_no_longer_than_it_takes(
    seen, reason, longest
):
    """The look came before the clock was set right, the decision after it."""
    step = next_step_of_removal(seen, None, removals.NOW)
    assert step.reason == reason
    assert step.wake_at(removals.NOW) == removals.NOW + timedelta(seconds=longest)
