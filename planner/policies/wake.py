"""When time alone changes the answer."""

from collections.abc import Iterator
from datetime import datetime

from api.v1alpha1.node_request import RequestPhase
from planner.model.plan import PlannerMemory, Snapshot
from planner.supply.machines import READY_GRACE


def wake_at(snapshot: Snapshot, memory: PlannerMemory) -> datetime | None:
    """Return when the next back-off, exclusion, pause or grace ends; idle nodes are not looked at."""
    return min((moment for moment in _moments(snapshot, memory) if moment > snapshot.now), default=None)


def _moments(snapshot: Snapshot, memory: PlannerMemory) -> Iterator[datetime]:
    for state in memory.backoff.values():
        if state.until is not None:
            yield state.until
    for node_class in snapshot.classes:
        yield from (entry.until for entry in node_class.status.unavailable)
        if node_class.status.pause is not None:
            yield node_class.status.pause.until
    for request in snapshot.requests:
        status = request.status
        if status.phase in {RequestPhase.UNMET, RequestPhase.FAILED} and status.expires_at is not None:
            yield status.expires_at
        if status.phase is RequestPhase.READY and status.ready_at is not None:
            yield status.ready_at + READY_GRACE
