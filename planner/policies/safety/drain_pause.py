"""The safety check by drains that were given up: nothing that evicts is begun on such a machine before a pause is over.

An empty one may go all the same.
"""

from dataclasses import dataclass
from datetime import datetime

from api.meta import shown_time
from planner.objects.drain_pause import read_drain_pause
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy


@dataclass(frozen=True, slots=True)
class PausedDrain:
    """Keeps a machine from being drained again."""

    now: datetime

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if its last drain was given up a short time ago."""
        node = candidate.machine.node
        pause = None if node is None else read_drain_pause(node.annotations)
        if pause is None or pause.is_over(self.now):
            return None
        why = f"its drain was given up, and is not begun again before {shown_time(pause.until)}"
        return Blocked(BlockedBy.DRAIN_TIMED_OUT, why, pause.until)
