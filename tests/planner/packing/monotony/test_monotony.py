"""More types, pools, zones or free room never make a plan dearer, but for listed contradictions.

Up to 30 pods never; above, by no more than 0.3 %: there the search ends before it has proven anything.
"""

from collections import Counter

import pytest

from tests.planner.packing.monotony.compare import TOLERANCE, drawn, outcome
from tests.planner.packing.monotony.contradictions import RULES, contradictions
from tests.planner.packing.monotony.pairs import large, small
from tests.searching import blocks

SMALL = [*blocks(range(3), 3), *blocks(range(3, 303), 25, pytest.mark.nightly)]
LARGE = [
    *blocks(range(10, 11), 1),
    *blocks(range(10), 10, pytest.mark.nightly),
    *blocks(range(11, 231), 20, pytest.mark.nightly),
]
"""More than 200 pairs of each size."""


@pytest.mark.parametrize("seeds", SMALL)
def test_up_to_30_pods_no_plan_is_dearer_with_more(seeds):
    risen = [str(found) for pair in drawn("small", seeds) if (found := outcome(pair)).rise > TOLERANCE["small"]]
    assert not risen, "\n".join(risen)


@pytest.mark.parametrize("seeds", LARGE)
def test_above_no_plan_is_dearer_with_more_by_more_than_three_thousandths(seeds):
    risen = [str(found) for pair in drawn("large", seeds) if (found := outcome(pair)).rise > TOLERANCE["large"]]
    assert not risen, "\n".join(risen)


def test_pairs_are_of_each_kind_and_few_large_ones_are_contradictions():
    sizes = [(small, range(120), 60), (large, range(30), 25)]
    for draw, seeds, fewest in sizes:
        pairs = [pair for seed in seeds if (pair := draw(seed)) is not None]
        judged = [pair for pair in pairs if not contradictions(pair)]
        assert len(judged) >= fewest
        assert min(Counter(pair.kind for pair in judged)[kind] for kind in ("type", "pool", "zone", "room")) >= 2
        assert {rule for pair in pairs for rule in contradictions(pair)} <= RULES.keys()


def test_a_number_always_gives_the_same_pair():
    assert small(6) == small(6) != small(7)
    assert large(6) == large(6) != large(7)
