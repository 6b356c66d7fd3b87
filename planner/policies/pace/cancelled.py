"""Removals that a person cancelled: none is begun again by itself for an hour, each further time for twice as long.

What is remembered stands on the Node, written when the removal ends. A removal that a person orders waits for nothing.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from api.keys import ANNOTATION_CANCELLED_AT, ANNOTATION_TIMES_CANCELLED
from api.meta import format_timestamp, read_moment
from planner.lifecycle.clocks.future_times import is_to_come

FIRST_PAUSE: Final = timedelta(hours=1)
LONGEST_PAUSE: Final = timedelta(hours=24)
QUIET_FOR: Final = timedelta(hours=24)
"""After the end of a pause. A cancel that comes later is a first one again."""
_MOST_TIMES: Final = 9


def held_until(annotations: Mapping[str, str], now: datetime) -> datetime | None:
    """Return until when no removal of a node is begun, by its annotations; None if one may begin.

    A time that cannot be read or is still to come counts as absent, a number of times that cannot be read as one.
    """
    at = _cancelled_at(annotations, now)
    until = None if at is None else at + _pause(_times(annotations))
    return until if until is not None and now < until else None


def marks_of_cancel(annotations: Mapping[str, str], cancelled_at: datetime) -> dict[str, str]:
    """Return the annotations to write on a node for a cancel at that time; none if they are there.

    Args:
        annotations: of the node.
        cancelled_at: as it is recorded on the removal, so that a repetition does not count twice.
    """
    last = read_moment(annotations.get(ANNOTATION_CANCELLED_AT, ""))
    if last == cancelled_at:
        return {}
    times = _times(annotations)
    is_first = last is None or last > cancelled_at or last + _pause(times) + QUIET_FOR < cancelled_at
    return {
        ANNOTATION_CANCELLED_AT: format_timestamp(cancelled_at),
        ANNOTATION_TIMES_CANCELLED: str(1 if is_first else min(times + 1, _MOST_TIMES)),
    }


def _cancelled_at(annotations: Mapping[str, str], now: datetime) -> datetime | None:
    at = read_moment(annotations.get(ANNOTATION_CANCELLED_AT, ""))
    return None if is_to_come(at, now) else at


def _times(annotations: Mapping[str, str]) -> int:
    text = annotations.get(ANNOTATION_TIMES_CANCELLED, "")
    return max(int(text), 1) if text.isascii() and text.isdigit() and len(text) == 1 else 1


def _pause(times: int) -> timedelta:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (times - 1))
