"""Moves that fail one after the other: a pool in which several did within an hour moves no pods for an hour.

Each machine waits longer after each of its own failures, but where the fault is in what all of them are replaced with,
such as an image that never joins, the next machine would be tried, and then the next. Each try buys a machine, or lets
pods go that find no place. Machines that are bought for pods that wait do not ask here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.keys import ANNOTATION_MOVE_FAILED, ANNOTATION_MOVE_FAILED_BY
from api.meta import shown_time
from planner.lifecycle.clocks.future_times import is_to_come
from planner.model.plan import Reason
from planner.objects.kinds import Node
from planner.objects.pauses import read_pause
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.machines import Machine

_FAILED: Final = "MovesFailed"
_FEWEST: Final = 3
"""One or two may be bad luck: a sold-out type, pods that came in between."""
_SHARE: Final = 10
"""One of so many machines of the pool must have failed: as many as go at once without a budget."""
_WITHIN: Final = timedelta(hours=1)
_PAUSE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class FailedMoves:
    """The moves of a pool that failed, and until when it begins no other."""

    number: int
    last: datetime

    @property
    def until(self) -> datetime:
        """The end of the pause."""
        return self.last + _PAUSE

    def reason(self) -> Reason:
        """Return what the condition of the pool says."""
        return Reason(_FAILED, f"{self.sentence()}. The removals that were cancelled tell why, as events")

    def sentence(self) -> str:
        """Return what failed, and what follows from it."""
        return (
            f"{self.number} moves of pods within an hour have failed, the last at {shown_time(self.last)}: "
            f"no other begins before {shown_time(self.until)}"
        )


@dataclass(frozen=True, slots=True)
class MovesFail:
    """Keeps the machines of pools in which moves fail."""

    failed: Mapping[str, FailedMoves]
    """By pool."""

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if its pool has failed to move pods."""
        pool = candidate.pool.metadata.name
        failed = self.failed.get(pool)
        if failed is None:
            return None
        return Blocked(BlockedBy.MOVES_FAIL, f"in pool {pool}, {failed.sentence()}", failed.until)


def failed_moves(machines: Iterable[Machine], now: datetime) -> dict[str, FailedMoves]:
    """Return the pools in which moves fail now, with what failed. What failed for one cause counts once."""
    numbers: dict[str, int] = {}
    causes: dict[str, dict[str, datetime]] = {}
    for machine in machines:
        if not machine.pool or machine.node is None:
            continue
        numbers[machine.pool] = numbers.get(machine.pool, 0) + 1
        at = _failed_at(machine.node, now)
        if at is not None:
            of_pool = causes.setdefault(machine.pool, {})
            cause = machine.node.annotations.get(ANNOTATION_MOVE_FAILED_BY) or machine.name
            of_pool[cause] = max(at, of_pool.get(cause, at))
    made = {pool: _last(sorted(times.values()), numbers[pool]) for pool, times in causes.items()}
    return {pool: failed for pool, failed in made.items() if failed is not None and now < failed.until}


def _failed_at(node: Node, now: datetime) -> datetime | None:
    pause = read_pause(node.annotations, ANNOTATION_MOVE_FAILED)
    at = None if pause is None else pause.until - pause.length
    return None if is_to_come(at, now) else at


def _last(times: Sequence[datetime], machines: int) -> FailedMoves | None:
    """Return the last time at which enough of them had failed within an hour."""
    enough = max(_FEWEST, -(-machines // _SHARE))
    for last in reversed(times):
        number = sum(last - _WITHIN <= at <= last for at in times)
        if number >= enough:
            return FailedMoves(number, last)
    return None
