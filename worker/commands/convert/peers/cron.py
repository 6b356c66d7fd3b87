"""Cron expressions as windows: the hours of a week in which one that has fired is not over yet.

Source: robfig/cron v3, standard parser, which Karpenter reads its budgets with: five fields, Sunday is 0 and not 7, a
range may not go past the end of the week, `@daily` and the like.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.v1alpha1.pool_parts.window import WEEKDAYS

_DAY: Final = 1440
_WEEK: Final = 7 * _DAY
_FIELDS: Final = 5
_DESCRIPTORS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_CRON_DAYS: Final = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_NO_NAMES: Final[Mapping[str, int]] = {}
_BOUNDS: Final = (
    ("minute", 0, 59, _NO_NAMES),
    ("hour", 0, 23, _NO_NAMES),
    ("day of the month", 1, 31, _NO_NAMES),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _CRON_DAYS),
)


def windows(schedule: str, minutes: int) -> list[dict[str, Any]] | None:
    """Return the windows, as fields of a budget, that are open for so many minutes each time the expression fires.

    Returns:
        One without fields if it is open at all times; None if days of the month or months decide, which no window says.

    Raises:
        ValueError: it is no such expression; tells what is wrong with it.
    """
    fields = _DESCRIPTORS.get(schedule.strip().lower(), schedule).split()
    if len(fields) != _FIELDS:
        msg = f"{schedule!r} must be a cron expression of five fields, or one such as @daily"
        raise ValueError(msg)
    at_minutes, at_hours, days, months, weekdays = (
        _values(text, *bounds) for text, bounds in zip(fields, _BOUNDS, strict=True)
    )
    if len(days) < _BOUNDS[2][2] or len(months) < _BOUNDS[3][2]:
        return None
    starts = sorted(
        (weekday - 1) % 7 * _DAY + hour * 60 + minute
        for weekday in weekdays
        for hour in at_hours
        for minute in at_minutes
    )
    return _grouped(_runs(starts, minutes))


def _values(text: str, unit: str, least: int, most: int, names: Mapping[str, int]) -> set[int]:
    """Return the values that a field stands for.

    Raises:
        ValueError: it is none.
    """
    values: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        first, dash, last = span.partition("-")
        step = _number(step_text, unit, _NO_NAMES) if slash else 1
        if span in ("*", "?"):
            low, high = least, most
        else:
            low = _number(first, unit, names)
            high = _number(last, unit, names) if dash else most if slash else low
        if not least <= low <= high <= most or step < 1:
            msg = f"{part!r} is no {unit}: {least} to {most}, ranges from the smaller to the larger, steps from 1"
            raise ValueError(msg)
        values |= set(range(low, high + 1, step))
    return values


def _number(text: str, unit: str, names: Mapping[str, int]) -> int:
    number = names.get(text.lower())
    if number is None:
        if not (text.isascii() and text.isdigit() and len(text) <= 4):  # noqa: PLR2004 - more digits than any value has
            msg = f"{text[:20]!r} is no {unit}"
            raise ValueError(msg)
        number = int(text)
    return number


def _runs(starts: Sequence[int], minutes: int) -> list[tuple[int, int]]:
    """Return start and length of each time without a break in which it is open, in minutes of a week from Monday on."""
    runs: list[tuple[int, int]] = []
    for start in starts:
        if runs and start <= runs[-1][0] + runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], start + minutes - runs[-1][0])
        else:
            runs.append((start, minutes))
    # What is open at the end of the week goes on into its beginning.
    while len(runs) > 1 and runs[-1][0] + runs[-1][1] >= _WEEK + runs[0][0]:
        first, last = runs.pop(0), runs[-1]
        runs[-1] = last[0], max(last[1], _WEEK + first[0] + first[1] - last[0])
    return [(start, min(length, _WEEK)) for start, length in runs]


def _grouped(runs: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return windows with the days on which each begins, the same hours together."""
    by_hours: dict[tuple[int, int] | None, set[int]] = {}
    for start, length in runs:
        if length >= _WEEK:
            return [{}]
        at, left = start, length
        while left > 0:
            minute = at % _DAY
            # As long as a day or longer, it is told day by day.
            part = left if left < _DAY and left == length else min(left, _DAY - minute)
            hours = None if part == _DAY else (minute, (minute + part) % _DAY)
            by_hours.setdefault(hours, set()).add(at // _DAY % 7)
            at, left = at + part, left - part
    return [_window(hours, days) for hours, days in by_hours.items()]


def _window(hours: tuple[int, int] | None, days: set[int]) -> dict[str, Any]:
    window: dict[str, Any] = {}
    if len(days) < len(WEEKDAYS):
        window["days"] = [WEEKDAYS[day] for day in sorted(days)]
    if hours is not None:
        window |= {"start": _clock(hours[0]), "end": _clock(hours[1])}
    return window


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
