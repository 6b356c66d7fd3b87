"""Cron expressions as windows, against a clock that goes through a week minute by minute."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.v1alpha1.pool_parts.window import WEEKDAYS
from worker.commands.convert.peers.cron import windows

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
WEEK = 7 * 1440
HOURS_OF_EVERY_DAY = {"start": "08:00", "end": "16:00"}


def is_open(window: dict, minute: int) -> bool:
    """Return whether a window is open in a minute of the week, as docs/consolidation.md says of days, start and end."""
    day, of_day = divmod(minute, 1440)
    days = window.get("days", WEEKDAYS)
    if "start" not in window:
        return WEEKDAYS[day] in days
    start, end = (int(text[:2]) * 60 + int(text[3:]) for text in (window["start"], window["end"]))
    if start < end:
        return WEEKDAYS[day] in days and start <= of_day < end
    return (WEEKDAYS[day] in days and of_day >= start) or (WEEKDAYS[day - 1] in days and of_day < end)


def fires(minutes: set[int], hours: set[int], weekdays: set[int], minute: int) -> bool:
    at = MONDAY + timedelta(minutes=minute)
    return at.minute in minutes and at.hour in hours and (at.weekday() + 1) % 7 in weekdays


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.integers(0, 59), min_size=1, max_size=2),
    st.sets(st.integers(0, 23), min_size=1, max_size=3),
    st.sets(st.integers(0, 6), min_size=1),
    st.integers(1, WEEK + 5),
)
def test_windows_are_open_when_the_expression_has_fired(minutes, hours, weekdays, length):
    text = " ".join(",".join(map(str, sorted(part))) for part in (minutes, hours)) + " * * "
    found = windows(text + ",".join(map(str, sorted(weekdays))), length)
    assert found is not None
    starts = [minute for minute in range(WEEK) if fires(minutes, hours, weekdays, minute)]
    expected = {(start + after) % WEEK for start in starts for after in range(min(length, WEEK))}
    assert {minute for minute in range(WEEK) if any(is_open(window, minute) for window in found)} == expected


@pytest.mark.parametrize(
    ("schedule", "minutes", "expected"),
    [
        ("0 8 * * *", 480, [HOURS_OF_EVERY_DAY]),
        ("0 8 ? * ?", 480, [HOURS_OF_EVERY_DAY]),
        ("0 8 */1 1-12 *", 480, [HOURS_OF_EVERY_DAY]),
        ("0 9 * * mon-fri", 480, [{"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "09:00", "end": "17:00"}]),
        ("0 9 * * MON,WED", 60, [{"days": ["Mon", "Wed"], "start": "09:00", "end": "10:00"}]),
        ("@daily", 600, [{"start": "00:00", "end": "10:00"}]),
        ("@hourly", 60, [{}]),
        ("@weekly", 1440, [{"days": ["Sun"]}]),
        ("0 0 * * 1", 144 * 60, [{"days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]}]),
        ("0 0 1 * *", 60, None),
        ("0 0 * jan *", 60, None),
        ("@monthly", 60, None),
    ],
)
def test_an_expression_becomes_windows(schedule, minutes, expected):
    assert windows(schedule, minutes) == expected


@pytest.mark.parametrize(
    "schedule",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "* * * * fri-mon",
     "*/0 * * * *", "a * * * *", "1-2-3 * * * *", "-1 * * * *", "@every 1h", "* * * * * *", "99999 * * * *",
     "٣ * * * *"],
)  # fmt: skip
def test_what_karpenter_refuses_is_refused(schedule):
    with pytest.raises(ValueError, match=r"is no|must be"):
        windows(schedule, 60)
