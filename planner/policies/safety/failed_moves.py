"""The safety check by moves that failed: pods that found no place elsewhere are not moved again for a while."""

from dataclasses import dataclass
from datetime import datetime

from api.meta import shown_time
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.replacement.failed_moves import read_failed_move


@dataclass(frozen=True, slots=True)
class FailedMoves:
    """Keeps a machine whose pods could not be moved."""

    now: datetime

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if the wait after its last failed move is not over."""
        node = candidate.machine.node
        failed = None if node is None else read_failed_move(node.annotations)
        if failed is None or failed.until <= self.now:
            return None
        why = f"its pods could not be moved, and are not moved again before {shown_time(failed.until)}"
        return Blocked(BlockedBy.MOVE_FAILED, why, failed.until)
