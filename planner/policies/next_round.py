"""When the next round comes while nobody asks for one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_request import RequestPhase
from planner.model.plan import PlannerMemory, Snapshot
from planner.model.round import RoundResult
from planner.policies.pace.schedule import changes_of_schedules
from planner.policies.safety.frozen_pools import judgements_to_come
from planner.supply.machines import READY_GRACE

OPEN_PERIOD: Final = timedelta(seconds=10)
"""While anything is open, in case a message was lost."""
QUIET_PERIOD: Final = timedelta(seconds=60)
SHORTEST_WAIT: Final = timedelta(seconds=1)
LONGEST_BACKOFF: Final = timedelta(seconds=30)
"""Failed rounds are repeated after 1, 2, 4 … seconds, up to this."""


def pause_after(done: RoundResult, now: datetime) -> timedelta | None:
    """Return the time from a round to the next one, unless a nudge comes; None starts the next at once."""
    if done.is_partial:
        return None
    pause = OPEN_PERIOD if done.is_open else QUIET_PERIOD
    if done.wake_at is not None:
        pause = min(pause, max(SHORTEST_WAIT, done.wake_at - now))
    return pause


def pause_after_failures(failures: int) -> timedelta:
    """Return the back-off after so many failed rounds in a row. A nudge does not shorten it."""
    return min(LONGEST_BACKOFF, timedelta(seconds=2 ** min(failures - 1, 10)))


def wake_at(snapshot: Snapshot, memory: PlannerMemory) -> datetime | None:
    """Return when a back-off, exclusion, pause or grace next ends, or a window opens or closes; idle nodes aside."""
    return min((moment for moment in _moments(snapshot, memory) if moment > snapshot.now), default=None)


def _moments(snapshot: Snapshot, memory: PlannerMemory) -> Iterator[datetime]:
    for state in memory.backoff.values():
        if state.until is not None:
            yield state.until
    if snapshot.buffers_due is not None:
        yield snapshot.buffers_due
    for pool in snapshot.pools:
        pause = pool.pause_at(snapshot.now)
        if pause is not None and pause.until is not None:
            yield pause.until
    yield from changes_of_schedules(snapshot.pools, snapshot.now)
    yield from judgements_to_come(snapshot)
    for node_class in snapshot.classes:
        yield from (entry.until for entry in node_class.status.unavailable)
        yield from (part.until for part in node_class.status.partial_pauses)
        if node_class.status.pause is not None:
            yield node_class.status.pause.until
    for request in snapshot.requests:
        status = request.status
        if status.phase in {RequestPhase.UNMET, RequestPhase.FAILED} and status.expires_at is not None:
            yield status.expires_at
        if status.phase is RequestPhase.READY and status.ready_at is not None:
            yield status.ready_at + READY_GRACE
