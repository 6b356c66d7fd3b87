"""Times that a clock which was ahead has written: each is taken back, and those of a right clock are left."""

from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.clocks.future_times import class_as_of, removal_as_of, request_as_of

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
AHEAD = NOW + HOUR
TOLERATED = NOW + timedelta(seconds=50)
EVENT = LifecycleEvent(at=AHEAD, name="Unmet")


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (
            {"phase": "Provisioning", "running_at": AHEAD, "join_deadline": AHEAD + HOUR},
            {"running_at": None, "join_deadline": None},
        ),
        ({"phase": "Ready", "create_attempt_at": AHEAD}, {"create_attempt_at": None}),
        # Whether that call took effect is not known: a server may still appear.
        ({"phase": "Provisioning", "create_attempt_at": AHEAD}, {}),
        ({"phase": "Pending", "create_attempt_at": AHEAD}, {}),
        ({"phase": "Ready", "ready_at": AHEAD, "release_by": AHEAD + HOUR}, {"release_by": NOW}),
        ({"phase": "Ready", "released_at": AHEAD, "expires_at": AHEAD + HOUR}, {"expires_at": NOW}),
        (
            {"phase": "Ready", "released_at": NOW - HOUR, "ready_at": AHEAD, "expires_at": AHEAD + HOUR},
            {"expires_at": NOW},
        ),
        ({"phase": "Unmet", "events": (EVENT,), "expires_at": AHEAD + HOUR}, {"expires_at": NOW}),
        ({"phase": "Ready", "released_at": TOLERATED, "expires_at": NOW + HOUR}, {}),
        ({"phase": "Ready", "released_at": NOW - HOUR, "expires_at": NOW + HOUR}, {}),
        ({"phase": "Unmet", "expires_at": NOW + HOUR}, {}),
        ({}, {}),
    ],
)
def test_a_request(status, changes):
    given = NodeRequestStatus.model_validate(status)
    assert request_as_of(given, NOW) == given.model_copy(update=changes)


@pytest.mark.parametrize("phase", ["Pending", "Provisioning"])
def test_the_time_to_boot_of_a_server_asked_for_in_times_to_come_counts_from_the_object(phase):
    created, time_out = NOW - timedelta(minutes=2), timedelta(minutes=10)

    def deadline(asked, created_at, now=NOW):
        status = {"phase": phase, "create_attempt_at": asked, "provisioning_deadline": asked + time_out}
        return request_as_of(NodeRequestStatus.model_validate(status), now, created_at).provisioning_deadline

    assert deadline(AHEAD, created) == created + time_out
    assert deadline(AHEAD, created, NOW + HOUR / 2) == created + time_out
    assert deadline(TOLERATED, created) == TOLERATED + time_out
    assert deadline(NOW, created) == NOW + time_out
    # Of a request that nobody knows the age of, and of an API server whose clock is ahead, too.
    assert deadline(AHEAD, None) == AHEAD + time_out
    assert deadline(AHEAD, AHEAD + HOUR) == AHEAD + time_out


@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (
            {"phase": "Pending", "tainted_at": AHEAD, "scale_down_at": AHEAD + HOUR},
            {"tainted_at": None, "scale_down_at": None},
        ),
        ({"phase": "Pending", "events": (EVENT,), "scale_down_at": AHEAD}, {"scale_down_at": None}),
        ({"phase": "Draining", "tainted_at": AHEAD, "scale_down_at": NOW}, {"tainted_at": None}),
        ({"phase": "Draining", "evict_attempted_at": AHEAD}, {"evict_attempted_at": None}),
        ({"phase": "Deprovisioning", "excluded_at": AHEAD}, {"excluded_at": None}),
        ({"phase": "Deprovisioning", "remove_attempted_at": AHEAD}, {"remove_attempted_at": None}),
        ({"phase": "CouldNotRemove", "events": (EVENT,), "retry_at": AHEAD + HOUR}, {"retry_at": NOW}),
        ({"phase": "CouldNotRemove", "retry_at": NOW + 2 * HOUR}, {}),
        ({"phase": "Deprovisioning", "detach_until": AHEAD}, {"detach_until": NOW + timedelta(minutes=5)}),
        ({"phase": "Deprovisioning", "detach_until": NOW + timedelta(minutes=5, seconds=50)}, {}),
        # A person may have made the pool's cool-off longer than an hour.
        ({"phase": "Pending", "tainted_at": NOW, "scale_down_at": NOW + 2 * HOUR}, {}),
        ({"phase": "Pending", "tainted_at": TOLERATED, "scale_down_at": TOLERATED}, {}),
        ({}, {}),
    ],
)
def test_a_removal(status, changes):
    given = NodeRemovalRequestStatus.model_validate(status)
    assert removal_as_of(given, NOW) == given.model_copy(update=changes)


@pytest.mark.parametrize(("at", "is_kept"), [(AHEAD, False), (TOLERATED, True), (NOW - HOUR, True)])
def test_what_a_class_could_not_have_in_times_to_come_keeps_nothing_waiting(at, is_kept):
    noted = {"failures": 1, "last_failure_at": at, "until": at + HOUR}
    given = NodeClassStatus.model_validate(
        {
            "pause": noted | {"message": "no more"},
            "partial_pauses": [noted | {"limit": "cores", "message": "no more"}],
            "unavailable": [noted | {"server_type": "cx22", "location": "fsn1"}],
            "failed_purchases": {"in_a_row": 3, "server_types": ["cx22"], "last_failure_at": at},
        }
    )
    nothing = {"pause": None, "partial_pauses": (), "unavailable": (), "failed_purchases": None}
    assert class_as_of(given, NOW) == (given if is_kept else given.model_copy(update=nothing))
