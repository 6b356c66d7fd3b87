"""Schedules: the bounds of a pool that are in force while windows are open, and what is wrong with them.

A round puts them in the place of `limits.min` and `limits.max` before it decides anything, so that all that asks for
bounds obeys them. Of several windows that are open the strictest hold: the largest min and the smallest max. Where min
is above max, max holds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from api.meta import shown_time
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.schedule import ScheduledLimits
from planner.lifecycle.step import shortened
from planner.model.plan import Reason, Snapshot
from planner.policies.pace.budgets import UNKNOWN_TIME_ZONE
from planner.policies.pace.time_zones import time_zone
from planner.policies.pace.windows import is_open, next_change

MIN_ABOVE_MAX: Final = "MinAboveMax"
"""Reason of the condition on a pool that keeps fewer machines than its min, as it may not have more."""


@dataclass(frozen=True, slots=True)
class BoundsInForce:
    """The bounds of a pool at a time."""

    min: int
    max: int | None
    """None where only server types have a max."""
    open_windows: tuple[ScheduledLimits, ...] = ()
    """Those that are open, in the order in which the pool names them."""
    until: datetime | None = None
    """When a window next opens or closes."""
    fault: Reason | None = None
    """What is wrong with the schedule, or with what comes of it now."""

    def __str__(self) -> str:
        most = "" if self.max is None else f", max {self.max}"
        until = "" if self.until is None else f" until {shown_time(self.until)}"
        return f"min {self.min}{most} by its schedule{until}"


def bounds_in_force(pool: NodePool, now: datetime) -> BoundsInForce:
    """Return the bounds of the pool at a time, by its schedule as it is written.

    Whether a window in an unknown time zone is open cannot be told: it may add to what is kept, and take from what may
    be bought, and never the other way round.
    """
    limits, windows = pool.spec.limits, pool.spec.schedule or ()
    unknown = [i for i, window in enumerate(windows) if time_zone(window.timezone) is None]
    known = [window for i, window in enumerate(windows) if i not in unknown]
    open_windows = tuple(window for window in known if is_open(window, now))
    doubtful = [windows[i] for i in unknown]
    least = max([*(_mins(open_windows) or [limits.min]), *_mins(doubtful)])
    own_most = [] if limits.max is None else [limits.max]
    most = min([*(_maxes(open_windows) or own_most), *_maxes(doubtful)], default=None)
    fault = _unknown_zones(pool, unknown)
    if most is not None and least > most:
        fault = fault or Reason(
            MIN_ABOVE_MAX,
            f"the bounds in force are min {least} and max {most}: max holds, so {most} machines are kept",
        )
        least = most
    changes = (next_change(window, now) for window in known)
    until = min((change for change in changes if change is not None), default=None)
    return BoundsInForce(least, most, open_windows, until, fault)


def schedules_in_force(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the bounds of its pools that are in force now; all else of them is the object's."""
    if not any(pool.spec.schedule for pool in snapshot.pools):
        return snapshot
    return replace(snapshot, pools=tuple(_in_force(pool, snapshot.now) for pool in snapshot.pools))


def changes_of_schedules(pools: Iterable[NodePool], now: datetime) -> Iterator[datetime]:
    """Yield when a window of each pool next opens or closes."""
    for pool in pools:
        for window in pool.spec.schedule or ():
            change = next_change(window, now)
            if change is not None:
                yield change


def _in_force(pool: NodePool, now: datetime) -> NodePool:
    if not pool.spec.schedule:
        return pool
    bounds = bounds_in_force(pool, now)
    limits = pool.spec.limits.model_copy(update={"min": bounds.min, "max": bounds.max})
    return pool.model_copy(update={"spec": pool.spec.model_copy(update={"limits": limits})})


def _mins(windows: Iterable[ScheduledLimits]) -> list[int]:
    return [window.min for window in windows if window.min is not None]


def _maxes(windows: Iterable[ScheduledLimits]) -> list[int]:
    return [window.max for window in windows if window.max is not None]


def _unknown_zones(pool: NodePool, unknown: Iterable[int]) -> Reason | None:
    windows = pool.spec.schedule or ()
    named = [f"schedule[{i}].timezone: {windows[i].timezone}" for i in unknown]
    if not named:
        return None
    verb = "is no time zone" if len(named) == 1 else "are no time zones"
    why = (
        f"{', '.join(named)} {verb} of the IANA database: until it is set right, the larger min and the smaller max "
        "hold at all times, of the window and of what else is in force"
    )
    return Reason(UNKNOWN_TIME_ZONE, shortened(why))
