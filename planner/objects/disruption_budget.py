"""PodDisruptionBudgets: how many pods of a selection may be evicted now, as the disruption controller counts them."""

from dataclasses import dataclass

from planner.objects.kinds import Requirement


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget."""

    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None = None
    """Which pods of its namespace: None selects none, no requirements select all."""
    allowed: int = 0
    """How many of its pods may be evicted now."""
    is_counted: bool = True
    """Whether that count is about the budget as it is now."""
    healthy: int = 0
    """How many of its pods are Ready."""
    needed: int = 0
    """How many of them must be."""
    problem: str = ""
    """Why the disruption controller cannot count them; empty where it can."""
    lets_unready_go: bool = False
    """Whether a pod that is not Ready may always be evicted (unhealthyPodEvictionPolicy AlwaysAllow)."""
