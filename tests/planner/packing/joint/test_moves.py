"""Ways to decide a joint plan in parts: as the scheduler binds it, and cheaper than before.

A few machines at a time under all rules; or first which machines to buy in which domain, and then who is on them.
"""

from dataclasses import replace
from functools import partial

import pytest

from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.solve import solve
from tests.planner.packing.joint.compare import BETTER, STUCK, compared
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary

_FEW = replace(
    ROUND, placing=100_000, improving=100_000, improving_a_machine=100_000, joint=0.0, moves=0.0, domains=0.0
)
BEFORE = partial(solve, effort=_FEW)
"""Without the search of the whole."""
WAYS = {"moves": replace(_FEW, moves=0.6), "stock": replace(_FEW, domains=0.5)}
"""Instead of it."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [seed for seed in range(40) if not contradictions(ordinary(seed))])
def test_parts_end_at_plans_that_the_scheduler_binds_and_that_are_never_dearer(seed, way):
    before, after = compared(seed, BEFORE), compared(seed, partial(solve, effort=WAYS[way]))
    assert after.verdict not in {STUCK, BETTER}
    assert after.score <= before.score


@pytest.mark.parametrize("way", WAYS)
def test_parts_find_cheaper_plans(way):
    after = partial(solve, effort=WAYS[way])
    gains = [seed for seed in range(40) if _cost(seed, after) < _cost(seed, BEFORE)]
    assert len(gains) >= 4


def _cost(seed, packer):
    return compared(seed, packer).made.cost_per_hour
