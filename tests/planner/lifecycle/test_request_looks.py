"""How often a waiting request is looked at. Source: every look is ten events of its workflow's history."""

from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.request import next_step
from planner.lifecycle.seen import NodeSeen, RequestSeen, ServerSeen
from planner.lifecycle.step import Wait

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
ROWS = [(0, 5), (50, 5), (100, 10), (240, 24), (300, 30), (3000, 30)]
"""Seconds of waiting so far, seconds to the next look: a tenth of the wait, from 5 to 30."""


def boots(waited):
    status = {"create_attempt_at": NOW - waited, "provisioning_deadline": LATER}
    return RequestSeen(status=NodeRequestStatus(phase=RequestPhase.PROVISIONING, **status), server=ServerSeen.CREATING)


def joins(waited):
    # Asked for long before: what counts is the wait for the Node.
    status = {"create_attempt_at": NOW - timedelta(hours=1), "running_at": NOW - waited, "join_deadline": LATER}
    return RequestSeen(status=NodeRequestStatus(phase=RequestPhase.PROVISIONING, **status), server=ServerSeen.RUNNING)


@pytest.mark.parametrize("waiting", [boots, joins])
@pytest.mark.parametrize(("waited", "look_every"), ROWS)
def test_the_longer_it_takes_the_rarer_it_is_looked_at(waiting, waited, look_every):
    step = next_step(waiting(timedelta(seconds=waited)), NOW)
    assert isinstance(step, Wait)
    assert step.look_every == timedelta(seconds=look_every)
    assert step.until == LATER


def test_a_boot_of_forty_minutes_takes_about_a_hundred_looks():
    asked, looks, now = NOW, 0, NOW
    while now < asked + timedelta(minutes=40):
        status = NodeRequestStatus(
            phase=RequestPhase.PROVISIONING, create_attempt_at=asked, provisioning_deadline=LATER
        )
        step = next_step(RequestSeen(status=status, server=ServerSeen.CREATING), now)
        assert isinstance(step, Wait)
        now = step.wake_at(now)
        looks += 1
    # One each 5 s for 50 s, then each a tenth of the wait later up to 300 s, then each 30 s; every 5 s would be 480.
    assert 95 <= looks <= 105


@pytest.mark.parametrize(("others", "look_every"), [(1, 5), (20, 5), (40, 10), (499, 124.75)])
def test_the_more_machines_settle_together_the_rarer_each_is_looked_at(others, look_every):
    status = {"settled_at": NOW, "release_by": LATER, "create_attempt_at": NOW}
    seen = RequestSeen(
        status=NodeRequestStatus(phase=RequestPhase.READY, **status),
        server=ServerSeen.RUNNING,
        node=NodeSeen(name="n", ready=True, reserved=True),
        seats=1,
        unsettled=others,
    )
    step = next_step(seen, NOW)
    assert isinstance(step, Wait)
    assert (step.reason, step.look_every) == ("OthersSettle", timedelta(seconds=look_every))
    # All together: four looks a second, however many they are.
    assert (others + 1) / step.look_every.total_seconds() <= 4.3
