"""The use of a pool as a whole: while it is small, machines go, a few at once and then again after a time.

Below the lower bound they go at the fast rate, at it and below the upper one at the slow rate; at the upper bound and
above it none goes.
Source: atlassian/escalator, docs/algorithm.md, `taint_lower_capacity_threshold_percent` and the fields beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.utilisation import GroupUtilisation
from planner.model.pool_figures import shown
from planner.policies.pace.budgets import UNDERUSED
from planner.policies.pace.rates import next_batch_at
from planner.policies.port import Advice, PolicyView, Proposal, Quota
from planner.policies.triggers.underused import may_shrink, number_fitting, shrinking_pools, underused
from planner.policies.utilisation.pool_use import PoolUse
from planner.policies.utilisation.shares import is_below


@dataclass(frozen=True, slots=True)
class LittleUsedPools:
    """Proposes machines of pools that are little used."""

    def propose(self, view: PolicyView) -> Advice:
        """Return all that may go, so many of which do as the rate says, now or when the next ones may."""
        return Advice(tuple(proposal for pool in shrinking_pools(view) for proposal in _proposals(pool, view)))


def rate(group: GroupUtilisation, use: PoolUse) -> tuple[int, str]:
    """Return how many machines go at once, and which bound says so in words; 0 where none goes."""
    if is_below(use.asked, use.capacity, group.lower_percent):
        return group.fast, f"lowerPercent, {group.lower_percent}"
    if is_below(use.asked, use.capacity, group.upper_percent):
        return group.slow, f"upperPercent, {group.upper_percent}"
    return 0, ""


def _proposals(pool: NodePool, view: PolicyView) -> Iterator[Proposal]:
    group, remaining = pool.spec.scale_down.group, view.remaining
    if group is None or remaining is None:
        return
    use = remaining.uses.of(pool)
    most, bound = rate(group, use)
    if not most:
        return
    ordered = may_shrink(pool, view)
    quota = Quota(f"{UNDERUSED}/{pool.metadata.name}", number_fitting(pool, ordered, view, most))
    share, resource = use.share
    name = pool.metadata.name
    why = f"{shown(share)} % of the {resource} of pool {name} is asked for, below scaleDown.group.{bound}"
    at = next_batch_at(pool, view)
    for candidate in ordered:
        yield underused(candidate, why, at, quota)
