"""Windows of budgets: whether a budget is open, and when that next changes.

A window is read from a clock on the wall of its zone: it is open while that clock shows a time in it. So one in the
hour that summer time leaves out does not open on that day, and one in the hour that comes twice opens twice.
Source: RFC 8536 (zones); PEP 495 (`fold`).
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from api.v1alpha1.removal_budget import WEEKDAYS, RemovalBudget
from planner.policies.pace.time_zones import time_zone

_DAY: Final = timedelta(days=1)
_LOOKED_AHEAD: Final = (2, 16)
"""Days: most windows open or close within the first, and one that a change of clocks swallows opens a week later."""
CHANGES_LOOKED_AT: Final = 200
"""Of several budgets together."""
_TO_THE_SECOND: Final = timedelta(seconds=1)


def is_open(budget: RemovalBudget, at: datetime) -> bool:
    """Return whether the budget holds at a time. One whose time zone is unknown holds at all times."""
    if budget.days is None and budget.start is None:
        return True
    zone = time_zone(budget.timezone)
    if zone is None:
        return True
    local = at.astimezone(zone)
    today, yesterday = WEEKDAYS[local.weekday()], WEEKDAYS[(local.weekday() - 1) % len(WEEKDAYS)]
    days = budget.days or WEEKDAYS
    if budget.start is None or budget.end is None:
        return today in days
    shown, start, end = local.time(), _time(budget.start), _time(budget.end)
    if start < end:
        return today in days and start <= shown < end
    return (today in days and shown >= start) or (yesterday in days and shown < end)


def next_change(budget: RemovalBudget, now: datetime) -> datetime | None:
    """Return when the budget next opens or closes, None if it never does."""
    zone = time_zone(budget.timezone)
    if zone is None or (budget.days is None and budget.start is None):
        return None
    was, today = is_open(budget, now), now.astimezone(zone).date()
    for days in _LOOKED_AHEAD:
        turns = {turn for day in range(-1, days) for turn in _turns(budget, today + day * _DAY, zone) if turn > now}
        change = next((turn for turn in sorted(turns) if is_open(budget, turn) != was), None)
        if change is not None:
            return change
    return None


def changes(budgets: Sequence[RemovalBudget], now: datetime) -> Iterator[datetime]:
    """Yield the next times at which one of the budgets opens or closes, in their order, so many at most."""
    upcoming = {i: change for i, budget in enumerate(budgets) if (change := next_change(budget, now)) is not None}
    for _ in range(CHANGES_LOOKED_AT):
        if not upcoming:
            return
        moment = min(upcoming.values())
        yield moment
        for i in [i for i, change in upcoming.items() if change == moment]:
            after = next_change(budgets[i], moment)
            del upcoming[i]
            if after is not None:
                upcoming[i] = after


def _turns(budget: RemovalBudget, day: date, zone: tzinfo) -> Iterator[datetime]:
    """Yield the times of a local day at which the budget may open or close."""
    change = _change_of_clocks(zone, day)
    if change is not None:
        yield change
    days = budget.days or WEEKDAYS
    if WEEKDAYS[day.weekday()] not in days and WEEKDAYS[(day - _DAY).weekday()] not in days:
        return
    for text in ("00:00",) if budget.start is None or budget.end is None else (budget.start, budget.end):
        for fold in (0,) if change is None else (0, 1):
            yield datetime.combine(day, _time(text), zone).replace(fold=fold).astimezone(UTC)


@lru_cache(maxsize=1440)
def _time(text: str) -> time:
    return time.fromisoformat(text)


@lru_cache(maxsize=1024)
def _change_of_clocks(zone: tzinfo, day: date) -> datetime | None:
    """Return when clocks are changed on a local day, None if they are not."""
    low = datetime.combine(day, time(), UTC) - _DAY
    high = low + 3 * _DAY
    before = low.astimezone(zone).utcoffset()
    if before == high.astimezone(zone).utcoffset():
        return None
    while high - low > _TO_THE_SECOND:
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    change = high.replace(microsecond=0)
    return change if change.astimezone(zone).date() == day else None
