"""The memory of moves that failed: a machine whose pods found no place elsewhere is not emptied again for a while.

It stands on the Node, as an annotation, and doubles with each failure in a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.keys import ANNOTATION_MOVE_FAILED
from api.meta import format_timestamp, read_moment

FIRST: Final = timedelta(minutes=15)
"""As long as a pool waits by default before it consolidates: less would try the same state again."""
LONGEST: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class FailedMove:
    """Moves of a machine's pods that failed in a row."""

    until: datetime
    """The same is not proposed before."""
    times: int


def read_failed_move(annotations: Mapping[str, str]) -> FailedMove | None:
    """Return the failures that a Node tells of, None where there are none; what cannot be read counts as none."""
    moment, _, times = annotations.get(ANNOTATION_MOVE_FAILED, "").partition(" ")
    until = read_moment(moment)
    if until is None or not times.isdecimal() or len(times) > 3:  # noqa: PLR2004 - doubled a hundred times at most
        return None
    return FailedMove(until, int(times))


def after_failure(annotations: Mapping[str, str], now: datetime) -> str:
    """Return the annotation of a Node after one more failure: a wait that is over for as long again is forgotten."""
    before = read_failed_move(annotations)
    times = 1 if before is None or now >= before.until + LONGEST else min(before.times + 1, 99)
    wait = min(LONGEST, FIRST * 2 ** min(times - 1, 10))
    return f"{format_timestamp((now + wait).replace(microsecond=0))} {times}"
