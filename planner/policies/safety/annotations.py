"""Safety checks by what people and other autoscalers have written: the pool's mode, and words on the Node."""

from dataclasses import dataclass

from planner.objects.eviction import keeps_node
from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy


@dataclass(frozen=True, slots=True)
class DrainedPool:
    """Keeps machines with pods in pools that do not say that these may be evicted."""

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if its pool's mode is not `drain`."""
        mode = candidate.pool.spec.scale_down.mode
        if mode == "drain":
            return None
        return Blocked(BlockedBy.MODE, f"pool {candidate.pool.metadata.name} says scaleDown.mode: {mode}")


@dataclass(frozen=True, slots=True)
class WordOnNode:
    """Keeps a Node that bears a word of Cluster Autoscaler or Karpenter; Growth's own keeps it from all removals."""

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if its Node is annotated."""
        node = candidate.machine.node
        key = "" if node is None else keeps_node(node.annotations)
        return Blocked(BlockedBy.ANNOTATION, f"it is annotated {key}") if key else None
