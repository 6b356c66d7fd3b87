"""The safety check by what was given up: nothing that evicts is begun on such a machine before a pause is over.

An empty one may go all the same.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.keys import ANNOTATION_DRAIN_PAUSE, ANNOTATION_MOVE_FAILED
from api.meta import shown_time
from planner.objects.pauses import read_pause
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy

_PAUSES: Final = (
    (ANNOTATION_DRAIN_PAUSE, BlockedBy.DRAIN_TIMED_OUT, "its drain was given up, and is not begun again"),
    (ANNOTATION_MOVE_FAILED, BlockedBy.MOVE_FAILED, "its pods could not be moved, and are not moved again"),
)


@dataclass(frozen=True, slots=True)
class Paused:
    """Keeps a machine from being drained again, or its pods from being moved again."""

    now: datetime

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if the last try was given up a short time ago."""
        node = candidate.machine.node
        for key, by, why in _PAUSES:
            pause = None if node is None else read_pause(node.annotations, key)
            if pause is not None and not pause.is_over(self.now):
                return Blocked(by, f"{why} before {shown_time(pause.until)}", pause.until)
        return None
