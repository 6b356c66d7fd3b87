"""A few machines at a time, decided anew under all rules: as the scheduler binds them, and cheaper than before."""

from dataclasses import replace
from functools import partial

import pytest

from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.solve import solve
from tests.planner.packing.joint.compare import BETTER, STUCK, compared
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary

_FEW = replace(ROUND, placing=100_000, improving=100_000, improving_a_machine=100_000, joint=0.0, moves=0.0)
BEFORE, AFTER = partial(solve, effort=_FEW), partial(solve, effort=replace(_FEW, moves=0.6))
"""Without the search of the whole, and then with moves instead of it."""


@pytest.mark.parametrize("seed", [seed for seed in range(40) if not contradictions(ordinary(seed))])
def test_moves_end_at_plans_that_the_scheduler_binds_and_that_are_never_dearer(seed):
    before, after = compared(seed, BEFORE), compared(seed, AFTER)
    assert after.verdict not in {STUCK, BETTER}
    assert after.score <= before.score


def test_moves_find_cheaper_plans():
    gains = [seed for seed in range(40) if _cost(seed, AFTER) < _cost(seed, BEFORE)]
    assert len(gains) >= 5


def _cost(seed, packer):
    return compared(seed, packer).made.cost_per_hour
