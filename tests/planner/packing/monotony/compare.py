"""Whether having more makes plans dearer: `python -m tests.planner.packing.monotony.compare --seeds 0:200 large`."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from planner.packing.optimiser.solve import solve
from planner.plan import plan
from tests.planner.packing.monotony.contradictions import contradictions
from tests.planner.packing.monotony.pairs import Pair, large, small
from tests.planner.scenes import Scene

DRAWS: Final[dict[str, Callable[[int], Pair | None]]] = {"small": small, "large": large}
TOLERANCE: Final = {"small": Decimal(0), "large": Decimal("0.003")}
"""How much dearer a plan may be with more than with less."""


@dataclass(frozen=True)
class Outcome:
    """The plans of a pair."""

    pair: Pair
    left: tuple[dict[int, int], dict[int, int]]
    """Pods without a place by priority, with less and with more."""
    costs: tuple[Decimal, Decimal]
    """Per hour, with less and with more."""

    @property
    def rise(self) -> Decimal:
        """By how much the plan with more is dearer, as a share; 1 where it leaves more pods out."""
        less, more = (self._placing(left) for left in self.left)
        if less != more:
            return Decimal(int(more > less))
        before, after = self.costs
        return after / before - 1 if before else Decimal(int(after > 0))

    def _placing(self, left: dict[int, int]) -> tuple[int, ...]:
        tiers = sorted({*self.left[0], *self.left[1]}, reverse=True)
        return tuple(left.get(tier, 0) for tier in tiers)

    def __str__(self) -> str:
        less, more = (sum(left.values()) for left in self.left)
        return f"{self.pair}: {self.costs[0]} -> {self.costs[1]} an hour ({self.rise:+.2%}), left out {less} -> {more}"


def outcome(pair: Pair) -> Outcome:
    """Return both plans of a pair, made as a round makes them."""
    (left, cost), (left_of_more, cost_of_more) = (_planned(scene) for scene in (pair.less, pair.full))
    return Outcome(pair, (left, left_of_more), (cost, cost_of_more))


def _planned(scene: Scene) -> tuple[dict[int, int], Decimal]:
    made = plan(scene.snapshot(), solve)
    priority = {
        f"{p['metadata']['namespace']}/{p['metadata']['name']}": p["spec"].get("priority", 0) for p in scene.pods
    }
    return dict(Counter(priority[u.pod] for u in made.unplaced)), made.cost_per_hour


def drawn(size: str, seeds: Iterable[int]) -> Iterable[Pair]:
    """Yield the pairs of these numbers whose pods do not ask for more where there is more."""
    for seed in seeds:
        pair = DRAWS[size](seed)
        if pair is not None and not contradictions(pair):
            yield pair


def main() -> None:
    """Print each pair of which the plan with more is dearer, and how many pairs were judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", choices=sorted(DRAWS))
    parser.add_argument("--seeds", default="0:200", help="first and last but one, as 0:200")
    given = parser.parse_args()
    first, _, last = given.seeds.partition(":")
    number = 0
    for pair in drawn(given.size, range(int(first), int(last))):
        number += 1
        found = outcome(pair)
        if found.rise > 0:
            print(found, flush=True)
    print(f"{number} pairs")


if __name__ == "__main__":
    main()
