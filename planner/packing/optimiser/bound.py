"""What a packing is told to cost at least: by prices of shares, and by exact pricing where there are few groups."""

from collections.abc import Iterator
from math import gcd
from typing import Final

import numpy as np

from planner.packing.optimiser.arrays import ENDLESS, Floats, Ints, Yard
from planner.packing.optimiser.column import Pool
from planner.packing.optimiser.fluid import bound_of_fluid
from planner.packing.optimiser.generate import generate
from planner.packing.optimiser.proof import MOST_GROUPS, SAFE, proven_by_pricing
from planner.packing.optimiser.question import Question, prices_of, question_of
from planner.packing.optimiser.shares import Shares, shares_of
from planner.packing.problem import Packing, PackingProblem

NEAR: Final = 1.003
"""So many times what is proven: neither a better plan nor a better proof is worth its time."""
_STEPS: Final = 240
_BOX: Final = 1.5
"""Over its price, what a pod may cost at most in the relaxation."""


def proven(problem: PackingProblem, packing: Packing, question: Question, known: Pool, least: float) -> int:
    """Return the least that any packing of the same pods costs, in billionths; 0 where nothing is proven.

    `least` is what is known of that where all machines are bought.

    Where the problem is one of several ways to see the pods, the bound is that of the widest
    (`PackingProblem.relaxed`). Free machines could carry any of the pods: at most what is worth most.
    """
    if problem.relaxed is not None:
        if packing.unplaced:
            return 0
        question, known, least = question_of(problem.relaxed, question.effort, question.is_over), Pool(), 0.0
    yard, pods = question.yard, question.counts.copy()
    for i, number in packing.unplaced.items():
        pods[i] -= number
    if not pods.any() or not question.is_paid:
        return 0
    shares = shares_of(yard, pods, question.room, _STEPS)
    if yard.allowed[pods > 0][:, yard.free].any():
        return max(0, int(_beside_free(question, shares, pods) * SAFE))
    best, enough = max(least, shares.bound * SAFE), float(problem.cost(packing.nodes))
    if question.effort.proof and best * NEAR < enough and shares.limit.any():
        best = max(best, SAFE * bound_of_fluid(yard, pods, question.room))
    if question.effort.proof and best * NEAR < enough and np.count_nonzero(pods) <= MOST_GROUPS:
        prices = prices_of(yard, shares)
        generate(
            question,
            prices,
            list(known.columns),
            known,
            pods,
            question.room,
            most=_BOX * prices.pod,
            turns=question.effort.turns,
        )
        best = max(best, proven_by_pricing(question, known, pods, question.room, enough))
    # A cost is a sum of prices, and so a multiple of what divides them all.
    unit = gcd(*(int(price) for price in yard.price[yard.paid]))
    return -(-max(0, int(np.ceil(best - 1))) // unit) * unit


def _beside_free(question: Question, shares: Shares, pods: Ints) -> float:
    """Return the worth of the pods less what free machines may carry of it.

    `planner.packing.cost` says why it holds.
    """
    yard = question.yard
    worth = shares.pod * pods
    paid_back = float(shares.limit @ question.room)
    # Pods that no free machine can hold are paid for in full.
    tied = float(worth[~yard.allowed[:, yard.free].any(axis=1)].sum())
    carried = sum(
        most * copies for most, copies in zip(_carried(yard, shares.pod, pods), _copies(question, pods), strict=True)
    )
    return max(tied, float(worth.sum()) - carried) - paid_back


def _copies(question: Question, pods: Ints) -> list[int]:
    """Return how many machines of each free bin may be used, no more than there are pods."""
    yard, total = question.yard, int(pods.sum())
    allowed = (np.append(question.room, ENDLESS)[yard.limits[yard.free]] // yard.amounts[yard.free]).min(axis=1)
    return np.minimum(allowed, total).tolist()


def _carried(yard: Yard, pod: Floats, pods: Ints) -> Iterator[float]:
    """Yield for each free bin at least what the pods on one machine are worth; of those alike it is worked out once."""
    known: dict[tuple[bytes, bytes], float] = {}
    for b, may in zip(yard.free.tolist(), yard.allowed[:, yard.free].T & (pods > 0), strict=True):
        key = may.tobytes(), yard.capacity[b].tobytes()
        if key not in known:
            known[key] = _most_carried(yard, pod, pods, b, np.flatnonzero(may))
        yield known[key]


def _most_carried(yard: Yard, pod: Floats, pods: Ints, b: int, members: Ints) -> float:
    """Return at least what the pods of these groups on one free machine are worth."""
    if not len(members):
        return 0.0
    demand, capacity = yard.demand[members], yard.capacity[b]
    fits = np.where(demand > 0, capacity // np.maximum(1, demand), pods.sum()).min(axis=1)
    most = float(pod[members] @ np.minimum(np.minimum(pods[members], yard.per_node[members]), fits))
    for r in np.flatnonzero((demand > 0).all(axis=0)):
        most = min(most, float((pod[members] / demand[:, r]).max() * capacity[r]))
    return most
