"""What a packing is told to cost at least: by prices of shares, and by exact pricing where there are few groups."""

from typing import Final

import numpy as np

from planner.packing import Packing, PackingProblem
from planner.solver.column import Pool
from planner.solver.generate import generate
from planner.solver.proof import MOST_GROUPS, proven_by_pricing
from planner.solver.question import Question, prices_of, question_of
from planner.solver.shares import shares_of

_STEPS: Final = 240
_SAFE: Final = 1 - 1e-9
"""Floats are rounded; the bound is to hold all the same."""
_BOX: Final = 1.5
"""Over its price, what a pod may cost at most in the relaxation."""


def proven(problem: PackingProblem, packing: Packing, question: Question, known: Pool) -> int:
    """Return what every packing of the same pods costs at least, in billionths; 0 where nothing is proven.

    Nothing is where machines are free: then other pods might have been the ones to buy for. Where the problem
    is one of several ways to see the pods, the bound is that of the widest (`PackingProblem.relaxed`).
    """
    if problem.relaxed is not None:
        if packing.unplaced:
            return 0
        question, known = question_of(problem.relaxed, question.effort, question.is_over), Pool()
    yard, pods = question.yard, question.counts.copy()
    for i, number in packing.unplaced.items():
        pods[i] -= number
    if not pods.any() or yard.allowed[pods > 0][:, yard.free].any():
        return 0
    shares = shares_of(yard, pods, question.room, _STEPS)
    best = shares.bound * _SAFE
    if question.effort.proof and np.count_nonzero(pods) <= MOST_GROUPS:
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
        cost = float(sum(problem.bins[node.bin].price for node in packing.nodes))
        best = max(best, proven_by_pricing(question, known, pods, question.room, cost))
    return max(0, int(np.ceil(best - 1)))
