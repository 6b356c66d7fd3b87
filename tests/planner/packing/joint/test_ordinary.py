"""No plan of an ordinary small round is dearer than the best of all ways, and none leaves out who could be placed."""

import pytest

from tests.planner.packing.joint.compare import BETTER, PACKERS, SAME, STUCK, compared
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary
from tests.searching import blocks

SEEDS = [*blocks(range(400), 50), *blocks(range(400, 2000), 100, pytest.mark.nightly)]
"""400 in each commit, 2,000 in all."""


def judged(seeds: range) -> list[int]:
    """Return the seeds whose pods ask for what can be."""
    return [seed for seed in seeds if not contradictions(ordinary(seed))]


@pytest.mark.parametrize("seeds", SEEDS)
def test_no_plan_of_the_optimiser_is_worse_than_the_best_of_all_ways(seeds):
    found = [compared(seed, PACKERS["optimiser"]) for seed in judged(seeds)]
    worse = [one.told() for one in found if one.verdict != SAME]
    assert not worse, f"{len(worse)} of {len(found)}\n" + "\n".join(worse)


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_scheduler_binds_every_plan_and_none_beats_all_ways(seeds):
    found = [compared(seed, PACKERS["default"]) for seed in judged(seeds)]
    wrong = [one.told() for one in found if one.verdict in {STUCK, BETTER}]
    assert not wrong, "\n".join(wrong)


def test_few_rounds_are_left_out_as_contradictions():
    assert len(judged(range(2000))) >= 1950
