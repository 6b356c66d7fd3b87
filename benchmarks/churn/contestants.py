"""The sides of the comparison."""

from collections.abc import Callable, Mapping
from typing import Final

from api.v1alpha1.consolidation import USUAL_MOVE_PRICE
from benchmarks.churn.cluster_autoscaler import ClusterAutoscaler
from benchmarks.churn.growth import GrowthSide
from benchmarks.churn.karpenter import Karpenter, KarpenterDisruption, Shortages
from benchmarks.churn.loop import Autoscaler
from benchmarks.churn.world import ChurnWorld

_MINUTE: Final = 60
_BEAT: Final = 2 * _MINUTE
"""How often Growth looks for something to consolidate here. A worker may each minute, and takes twice the time."""
_DRAIN_TIMEOUT: Final = "30m"
"""Longer than budgets are closed here: a drain that waits for one costs less than one that is begun again."""


class GrowthBuys:
    """Karpenter's rule for disruption where Growth's planner buys: what Karpenter would be with a better packer."""

    def __init__(self, world: ChurnWorld, after: int) -> None:
        self._growth = GrowthSide(world, policies=())
        self._disruption = KarpenterDisruption(world, Shortages(world), after)

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        looks_at = self._disruption.look()
        wakes_at = self._growth.look()
        return looks_at if wakes_at is None else min(looks_at, wakes_at)


def _consolidating(world: ChurnWorld, after: str, move_price: str) -> GrowthSide:
    consolidate = {"after": after, "movePrice": move_price}
    scale_down = {"mode": "drain", "drainTimeout": _DRAIN_TIMEOUT, "consolidate": consolidate}
    return GrowthSide(world, scale_down, every=_BEAT)


EMPTY_ONLY: Final = "Growth, empty only"
CONTESTANTS: Final[Mapping[str, Callable[[ChurnWorld], Autoscaler]]] = {
    EMPTY_ONLY: GrowthSide,
    "Growth, consolidating after 15 m": lambda world: _consolidating(world, "15m", USUAL_MOVE_PRICE),
    "Growth, consolidating after 5 m, movePrice 70 %": lambda world: _consolidating(world, "5m", "70%"),
    "Growth, consolidating after 1 m, movePrice 90 %": lambda world: _consolidating(world, "1m", "90%"),
    "Karpenter's rule, 0 s": lambda world: Karpenter(world, 0),
    "Karpenter's rule, 5 m": lambda world: Karpenter(world, 5 * _MINUTE),
    "Karpenter's rule, 15 m": lambda world: Karpenter(world, 15 * _MINUTE),
    "Karpenter's rule with Growth's purchases, 0 s": lambda world: GrowthBuys(world, 0),
    "Karpenter's rule with Growth's purchases, 15 m": lambda world: GrowthBuys(world, 15 * _MINUTE),
    "Cluster Autoscaler's rule": ClusterAutoscaler,
    "Cluster Autoscaler's rule, moving emptyDirs": lambda world: ClusterAutoscaler(world, local_stays=False),
}
"""By name, each with consolidateAfter where it has one. Peers are their published rules, not their programs."""
