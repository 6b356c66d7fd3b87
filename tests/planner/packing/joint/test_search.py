"""What the brute force does not look at could not have been better: beside a search that looks at everything."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations_with_replacement, product

import pytest

from tests.planner.packing.joint.binding import Board, State
from tests.planner.packing.joint.cheapest import Score, cheapest
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing.joint.scheduler import Rules
from tests.planner.packing.joint.small_round import Limit, SmallRound, small_round
from tests.searching import blocks


def purchases(given: SmallRound) -> Iterator[tuple[int, ...]]:
    """Yield the kinds of machines that limits and minimums allow, one machine more than there are pods at most."""
    pods = sum(len(w.names) for w in given.workloads)
    for number in range(pods + 2):
        for bought in combinations_with_replacement(range(len(given.kinds)), number):
            counts = Counter[Limit]()
            for k in bought:
                counts.update(given.kinds[k].takes)
            if all(counts[limit] <= n for limit, n in given.left.items()) and all(
                counts[limit] >= n for limit, n in given.missing.items()
            ):
                yield bought


def goals(given: SmallRound, machines: int) -> Iterator[State]:
    """Yield every way to place pods or leave them out."""
    spread = [combinations_with_replacement(range(machines + 1), len(w.names)) for w in given.workloads]
    for homes in product(*spread):
        yield tuple(tuple(own.count(m) for own in homes) for m in range(machines))


def best_of_all(given: SmallRound) -> Score:
    """Return the best score, with every purchase and every way to place pods tried."""
    rules = Rules(given)
    tiers = sorted({w.priority for w in given.workloads}, reverse=True)
    found: list[Score] = []
    for bought in purchases(given):
        spots = [*range(len(given.there)), *(len(given.there) + k for k in bought)]
        board = Board(rules, spots)
        cost = sum((given.kinds[k].price or Decimal(0) for k in bought), Decimal(0))
        for goal in goals(given, len(spots)):
            placed = [sum(content[i] for content in goal) for i in range(len(given.workloads))]
            missing = tuple(
                sum(len(w.names) - n for w, n in zip(given.workloads, placed, strict=True) if w.priority == tier)
                for tier in tiers
            )
            if (not found or (missing, cost) < min(found)) and board.order(goal) is not None:
                found.append((missing, cost))
    return min(found)


def work(given: SmallRound) -> int:
    """Return a measure of the ways to try."""
    pods = sum(len(w.names) for w in given.workloads)
    return (len(given.kinds) + 1) ** (pods + 1) * (len(given.there) + pods + 2) ** pods


@pytest.mark.parametrize("seeds", [*blocks(range(400), 200), *blocks(range(400, 2000), 400, pytest.mark.nightly)])
def test_all_ways_are_no_better(seeds):
    tables = [(seed, small_round(ordinary(seed))) for seed in seeds]
    few = [(seed, given) for seed, given in tables if work(given) < 1_000_000]
    assert len(few) > len(seeds) // 20
    for seed, given in few:
        assert cheapest(given).score == best_of_all(given), seed
