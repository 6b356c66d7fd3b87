"""Times in a status that are still to come, because the clock of the worker that wrote them was ahead.

Deadlines are counted from such times. Believed, they would keep records and machines for as long as the clock was
ahead: each is taken back, so that its step is made anew by a right clock, or is due now.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.leaving import VOLUMES_DETACH_WITHIN

CLOCKS_DIFFER_AT_MOST: Final = timedelta(minutes=1)
"""Between two workers whose clocks are kept right. What a time may be ahead by without being taken back."""


def is_to_come(written: datetime | None, now: datetime) -> bool:
    """Return whether something is said to have happened later than `now`."""
    return written is not None and written > now + CLOCKS_DIFFER_AT_MOST


def request_as_of(status: NodeRequestStatus, now: datetime, created: datetime | None = None) -> NodeRequestStatus:
    """Return the status of a request with no time taken for true that is to come.

    Args:
        status: as it is written.
        now: by the clock of this worker.
        created: when its object was created, by the clock of the API server; None if nobody knows.
    """
    changes: dict[str, Any] = {}
    asked, by = status.create_attempt_at, status.provisioning_deadline
    if is_to_come(asked, now) and asked is not None and by is not None and created is not None:
        # Counted from when its object was created, which no clock of a worker wrote: nothing is written anew, so each
        # look comes to the same end. A worker that has begun to watch gives it the grace of each wait.
        changes["provisioning_deadline"] = min(by, max(created, by - (asked - created)))
    if status.phase is RequestPhase.PROVISIONING and is_to_come(status.running_at, now):
        # The node gets its time to join once more.
        changes |= {"running_at": None, "join_deadline": None}
    if status.phase is RequestPhase.READY and is_to_come(status.create_attempt_at, now):
        # Its Node has joined, so the call took effect: that the server is gone is believed at once.
        changes["create_attempt_at"] = None
    if is_to_come(status.ready_at, now) and status.released_at is None:
        changes["release_by"] = now
    elif is_to_come(status.ready_at, now) or is_to_come(status.released_at, now):
        # The record of one that was released before is kept from when it was Ready.
        changes["expires_at"] = now
    if status.phase in {RequestPhase.UNMET, RequestPhase.FAILED} and is_to_come(_last_event_at(status.events), now):
        changes["expires_at"] = now
    return status.model_copy(update=changes) if changes else status


def removal_as_of(status: NodeRemovalRequestStatus, now: datetime) -> NodeRemovalRequestStatus:
    """Return the status of a removal with no time taken for true that is to come."""
    happened = ("tainted_at", "evict_attempted_at", "excluded_at", "remove_attempted_at")
    changes: dict[str, Any] = {name: None for name in happened if is_to_come(getattr(status, name), now)}
    begun = status.tainted_at or _last_event_at(status.events)
    if status.phase is RemovalPhase.PENDING and is_to_come(begun, now):
        # The cool-off begins anew.
        changes["scale_down_at"] = None
    if status.phase is RemovalPhase.COULD_NOT_REMOVE and is_to_come(_last_event_at(status.events), now):
        # It is tried again by itself.
        changes["retry_at"] = now
    latest = now + VOLUMES_DETACH_WITHIN
    if is_to_come(status.detach_until, latest):
        # People are told of the new end, with which it is written.
        changes["detach_until"] = latest
    return status.model_copy(update=changes) if changes else status


def class_as_of(status: NodeClassStatus, now: datetime) -> NodeClassStatus:
    """Return the status of a node class without the misses and refusals that are to come: nothing waits for them."""
    changes: dict[str, Any] = {}
    for name in ("partial_pauses", "unavailable"):
        noted = getattr(status, name)
        past = tuple(each for each in noted if not is_to_come(each.last_failure_at, now))
        changes |= {name: past} if len(past) < len(noted) else {}
    for name in ("pause", "failed_purchases"):
        noted = getattr(status, name)
        changes |= {name: None} if noted is not None and is_to_come(noted.last_failure_at, now) else {}
    return status.model_copy(update=changes) if changes else status


def _last_event_at(events: Sequence[LifecycleEvent]) -> datetime | None:
    return events[-1].at if events else None
