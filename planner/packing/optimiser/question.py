"""What every stage of the optimiser is given."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.packing.optimiser.arrays import Floats, Ints, Prices, Yard, counts_of, room_of, yard_of
from planner.packing.optimiser.effort import Effort
from planner.packing.optimiser.fill import alone
from planner.packing.optimiser.shares import Shares
from planner.packing.problem import PackingProblem


@dataclass(frozen=True, slots=True)
class Question:
    """A problem laid out, and how hard to look."""

    yard: Yard
    counts: Ints
    """Pods, `[i]`."""
    room: Ints
    """What limits leave for machines, `[k]`."""
    width: int
    """Most groups that any machine can hold pods of."""
    effort: Effort
    is_over: Callable[[], bool]
    """Whether the time is over: the guard of a clock, for those who have one."""

    @property
    def is_paid(self) -> bool:
        """Whether there is anything to buy."""
        return len(self.yard.paid) > 0


def question_of(problem: PackingProblem, effort: Effort, is_over: Callable[[], bool]) -> Question:
    """Return the question that a problem is."""
    yard = yard_of(problem)
    return Question(yard, counts_of(problem), room_of(problem.limits), _width(yard), effort, is_over)


def prices_of(yard: Yard, shares: Shares, pod: Floats | None = None) -> Prices:
    """Return the prices by which constructions judge; those of pods come from the shares, or are `pod`."""
    cost = with_limits(yard, shares.limit)
    by_pod = shares.pod if pod is None else pod
    return Prices(cost, by_pod, shares.share, alone(yard, cost))


def with_limits(yard: Yard, limit: Floats) -> Floats:
    """Return the cost of a machine of each bin with the prices of its limits, `[b]`."""
    return yard.price + (np.append(limit, 0.0)[yard.limits] * yard.amounts).sum(axis=1)


def _width(yard: Yard) -> int:
    """Return the number of groups of which a machine can hold pods, at most: no more than it can hold pods."""
    groups = len(yard.tier)
    least = yard.demand.min(axis=0)
    needed = least > 0
    if not needed.any():
        return groups
    pods = (yard.capacity[:, needed] // least[needed]).min(axis=1).max()
    return max(1, min(groups, int(pods)))
