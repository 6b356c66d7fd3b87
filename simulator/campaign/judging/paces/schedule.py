"""In an open window of a pool's schedule its bounds hold: no machine is bought above the largest `max` of late."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import Object

_NO_BOUND: Final = 10**9
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_STEP: Final = 5.0


def most_of_late(specs: Sequence[Object], now: datetime, seconds: float) -> int:
    """Return the largest `max` that was in force in one of these specs within the last `seconds`."""
    moments = [now - timedelta(seconds=_STEP * number) for number in range(int(seconds // _STEP) + 1)]
    # Clocks of workers are up to a second ahead.
    moments.append(now + timedelta(seconds=1))
    return max((_most(spec, moment) for spec in specs for moment in moments), default=_NO_BOUND)


def _most(spec: Object, moment: datetime) -> int:
    windows = [window for window in spec.get("schedule") or () if "max" in window and _is_open(window, moment)]
    limits = spec.get("limits") or {}
    return min((window["max"] for window in windows), default=limits.get("max", _NO_BOUND))


def _is_open(window: Object, moment: datetime) -> bool:
    """Return whether a window of these histories is open: they are in UTC, and end before midnight."""
    if "days" in window and _DAYS[moment.weekday()] not in window["days"]:
        return False
    return "start" not in window or window["start"] <= f"{moment:%H:%M}" < window["end"]
