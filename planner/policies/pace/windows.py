"""Windows of budgets and schedules: whether one is open, and when that next changes.

A window is read from a clock on the wall of its zone: it is open while that clock shows a time in it. So one in the
hour that summer time leaves out does not open on that day, and one in the hour that comes twice opens twice.
Source: RFC 8536 (zones); PEP 495 (`fold`).
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from api.v1alpha1.pool_parts.window import WEEKDAYS, Window
from planner.policies.pace.time_zones import time_zone

_DAY: Final = timedelta(days=1)
_LOOKED_AHEAD: Final = (2, 16)
"""Days: most windows open or close within the first, and one that a change of clocks swallows opens a week later."""
CHANGES_LOOKED_AT: Final = 200
"""Of several budgets together."""
_TO_THE_SECOND: Final = timedelta(seconds=1)


def is_open(window: Window, at: datetime) -> bool:
    """Return whether the window is open at a time. One whose time zone is unknown is open at all times."""
    if window.days is None and window.start is None:
        return True
    zone = time_zone(window.timezone)
    if zone is None:
        return True
    local = at.astimezone(zone)
    today, yesterday = WEEKDAYS[local.weekday()], WEEKDAYS[(local.weekday() - 1) % len(WEEKDAYS)]
    days = window.days or WEEKDAYS
    if window.start is None or window.end is None:
        return today in days
    shown, start, end = local.time(), _time(window.start), _time(window.end)
    if start < end:
        return today in days and start <= shown < end
    return (today in days and shown >= start) or (yesterday in days and shown < end)


def next_change(window: Window, now: datetime) -> datetime | None:
    """Return when the window next opens or closes, None if it never does."""
    zone = time_zone(window.timezone)
    if zone is None or (window.days is None and window.start is None):
        return None
    was, today = is_open(window, now), now.astimezone(zone).date()
    for days in _LOOKED_AHEAD:
        turns = {turn for day in range(-1, days) for turn in _turns(window, today + day * _DAY, zone) if turn > now}
        change = next((turn for turn in sorted(turns) if is_open(window, turn) != was), None)
        if change is not None:
            return change
    return None


def changes(windows: Sequence[Window], now: datetime) -> Iterator[datetime]:
    """Yield the next times at which one of the windows opens or closes, in their order, so many at most."""
    upcoming = {i: change for i, window in enumerate(windows) if (change := next_change(window, now)) is not None}
    for _ in range(CHANGES_LOOKED_AT):
        if not upcoming:
            return
        moment = min(upcoming.values())
        yield moment
        for i in [i for i, change in upcoming.items() if change == moment]:
            after = next_change(windows[i], moment)
            del upcoming[i]
            if after is not None:
                upcoming[i] = after


def _turns(window: Window, day: date, zone: tzinfo) -> Iterator[datetime]:
    """Yield the times of a local day at which the window may open or close."""
    change = _change_of_clocks(zone, day)
    if change is not None:
        yield change
    days = window.days or WEEKDAYS
    if WEEKDAYS[day.weekday()] not in days and WEEKDAYS[(day - _DAY).weekday()] not in days:
        return
    for text in ("00:00",) if window.start is None or window.end is None else (window.start, window.end):
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
