"""Column generation: patterns are added where the duals say that they would pay, until hardly any would."""

from dataclasses import dataclass

import numpy as np

from planner.packing.optimiser.arrays import Floats, Ints, Prices
from planner.packing.optimiser.column import Column, Pool, columns_of
from planner.packing.optimiser.knapsack import worthwhile
from planner.packing.optimiser.master import Master, Relaxed
from planner.packing.optimiser.pattern import patterns
from planner.packing.optimiser.question import Question, with_limits

_CENTRE = 0.3
"""How much the first prices count beside the duals: duals jump, and lie where a pod is covered twice."""
_LEAST_GAIN = 1e-4
"""By how much a pattern must be worth more than it costs."""
_FEW = 4
"""New patterns in a turn, below which the turn was not worth its time."""
_FEW_MISSING = 0.01
"""Of all pods, as many as the relaxation may leave out when it ends."""
_DEARER = 1.6
"""What pods without a place cost more where some of them still have none."""
_FOUND_AT_MOST = 400
BOX = 1.08
"""Over its price, what a pod may cost at most before the relaxation lets it go."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Where the generation stopped."""

    relaxed: Relaxed
    columns: list[Column]
    """In the order of `relaxed.times`."""


def generate(
    question: Question,
    prices: Prices,
    pool: list[Column],
    known: Pool,
    left: Ints,
    room: Ints,
    *,
    most: Floats,
    turns: int,
    more: int = 0,
) -> Generated | None:
    """Return the optimum over `pool` and the patterns found in so many turns; None if there is none.

    Up to so many `more` turns follow while patterns are missing for more than a few pods.
    """
    yard = question.yard
    master, columns = Master(left, room, most), list(pool)
    master.add(columns)
    relaxed = master.solve()
    out = patterns(_FOUND_AT_MOST, question.width)
    centre = _CENTRE
    for turn in range(turns + more):
        if relaxed is None or question.is_over():
            break
        if turn >= turns and relaxed.missing.sum() <= _FEW_MISSING * left.sum():
            break
        pod = (1 - centre) * relaxed.pod + centre * prices.pod
        cost = with_limits(yard, relaxed.limit)
        rows = worthwhile(yard, prices._replace(pod=pod, cost=cost), left, _LEAST_GAIN, turn, out)
        new = known.add(columns_of(yard, out, rows))
        if len(new) < _FEW:
            if centre:
                centre = 0.0
            elif relaxed.missing.sum() > 0.5:  # noqa: PLR2004 - half a pod: none is missing
                most = np.where(relaxed.missing > 0, most * _DEARER, most)
                master.allow(most)
            else:
                break
        master.add(new)
        columns += new
        relaxed = master.solve()
    return None if relaxed is None else Generated(relaxed, columns)
