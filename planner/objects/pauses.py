"""A pause of a node after what Growth began there by itself and gave up: it is not begun again before its end.

It stands on the Node, so that no round must remember it, and goes with it: a removal that comes to its end resets it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration, parse_duration
from api.meta import format_timestamp, read_moment

FIRST_PAUSE: Final = timedelta(minutes=15)
"""As long as a pool waits by default before it consolidates: less would try the same state again."""
LONGEST_PAUSE: Final = timedelta(days=1)
FORGOTTEN_AFTER: Final = timedelta(days=1)
"""A node that was left alone for so long after its pause begins with the first one again."""


@dataclass(frozen=True, slots=True)
class Pause:
    """The pause of a node."""

    until: datetime
    length: timedelta

    def is_over(self, now: datetime) -> bool:
        """Return whether its node may be tried again; one that a clock far ahead has written counts as over."""
        return now >= self.until or self.until - now > self.length + timedelta(minutes=1)


def read_pause(annotations: Mapping[str, str], key: str) -> Pause | None:
    """Return the pause that this annotation of a node tells; what cannot be read counts as absent."""
    moment, _, length = annotations.get(key, "").partition(" ")
    until = read_moment(moment)
    if until is None:
        return None
    try:
        pause = Pause(until, parse_duration(length))
    except ValueError:
        return None
    return pause if timedelta() < pause.length <= LONGEST_PAUSE else None


def next_pause(before: Pause | None, given_up_at: datetime) -> Pause:
    """Return the pause that follows what was given up then; the same one, if that is on record already."""
    began = given_up_at.replace(microsecond=0)
    if before is not None and before.until - before.length == began:
        return before
    is_first = before is None or began >= before.until + FORGOTTEN_AFTER or before.until - began > LONGEST_PAUSE
    length = FIRST_PAUSE if is_first or before is None else min(2 * before.length, LONGEST_PAUSE)
    return Pause(began + length, length)


def written(pause: Pause) -> str:
    """Return the value of the annotation."""
    return f"{format_timestamp(pause.until)} {format_duration(pause.length)}"
