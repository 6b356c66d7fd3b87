"""Growth's plan and what simpler rules buy, for the same problem: those of its peers, and of its own fallback."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from benchmarks.case import Case
from benchmarks.checker import WrongPurchase, check
from benchmarks.growth_program import GrowthRun, growth_run
from planner.packing.fallback.pack import pack
from planner.supply.sums.price_units import price_of
from simulator.peers.cluster_autoscaler import cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import PeerProblem, Purchase

_CHEAP: Final = ("cx", "cax")
"""Families that a person who knows the prices would write into a pool."""
KARPENTER: Final = ("Karpenter, open", "Karpenter, cx+cax")
"""Its rules look at no limits."""
RULES: Final[Mapping[str, Callable[[PeerProblem], Purchase]]] = {
    KARPENTER[0]: karpenter,
    KARPENTER[1]: lambda problem: karpenter(problem, preferred=_CHEAP),
    "CA, price": lambda problem: cluster_autoscaler(problem, expander="price"),
    "CA, least-waste": lambda problem: cluster_autoscaler(problem, expander="least-waste"),
    "CA, most-pods": lambda problem: cluster_autoscaler(problem, expander="most-pods"),
    "fallback": lambda problem: Purchase(problem, pack(problem.packing)),
}
_SLOW: Final = tuple(name for name in RULES if name.startswith("CA"))
_MOST_GROUPS: Final = 2000
"""With more shapes of pods, these rules take many minutes in Python."""


@dataclass(frozen=True, slots=True)
class InstanceComparison:
    """All ways of buying for one problem."""

    case: Case
    growth: Purchase
    run: GrowthRun
    rules: Mapping[str, Purchase]
    """By name, of `RULES`, those that end in time."""

    @property
    def bound_per_hour(self) -> Decimal:
        """What no plan for the pods that Growth places costs less than."""
        return price_of(self.run.packing.proven)

    @property
    def over(self) -> float:
        """What Growth's plan costs above the bound, as a share of it."""
        return float(self.growth.cost_per_hour / self.bound_per_hour) - 1 if self.bound_per_hour else 0.0

    def ratio(self, rule: str) -> float | None:
        """Return the cost of a rule's plan over Growth's; None where there is none, or not as many pods are placed."""
        bought = self.rules.get(rule)
        if bought is None or bought.placed != self.growth.placed:
            return None
        return float(bought.cost_per_hour / self.growth.cost_per_hour)


def compare(case: Case) -> InstanceComparison:
    """Return the comparison for one problem; every plan is checked before it is reported.

    Raises:
        WrongPurchase: a plan breaks a rule of the problem, or costs less than was proven to be possible.
    """
    problem = case.problem
    run = growth_run(problem.packing)
    growth = Purchase(problem, run.packing)
    left_out = _SLOW if len(problem.packing.groups) > _MOST_GROUPS else ()
    rules = {name: buy(problem) for name, buy in RULES.items() if name not in left_out}
    check(growth, f"{case}: Growth")
    for name, bought in rules.items():
        if not (problem.packing.limits and name in KARPENTER):
            check(bought, f"{case}: {name}")
    comparison = InstanceComparison(case, growth, run, rules)
    for name, bought in {"Growth": growth, **rules}.items():
        is_free_of_limits = bool(problem.packing.limits) and name in KARPENTER
        if bought.unplaced == growth.unplaced == 0 and not is_free_of_limits:
            _check_bound(comparison, name, bought)
    return comparison


def _check_bound(comparison: InstanceComparison, buyer: str, purchase: Purchase) -> None:
    if purchase.cost_per_hour < comparison.bound_per_hour:
        reason = f"costs {purchase.cost_per_hour} an hour, less than the proven bound {comparison.bound_per_hour}"
        raise WrongPurchase(f"{comparison.case}: {buyer}: {reason}")
