"""Time in which nobody could see or join does not count. Source: issue 16, B4."""

from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.arrival.grace import with_grace
from planner.lifecycle.seen import RequestTimings

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
