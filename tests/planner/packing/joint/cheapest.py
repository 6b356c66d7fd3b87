"""The best plan of a small round, found by trying all: the fewest pods left out by priority, then the least cost.

Where kinds have tiers, the cost is that of the lowest tier, then of the next: none is bought for what a higher holds.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from heapq import heappop, heappush
from itertools import product

from tests.planner.packing.joint.binding import Board, State
from tests.planner.packing.joint.scheduler import Content, Rules
from tests.planner.packing.joint.small_round import Limit, SmallRound, Spot

Costs = tuple[Decimal, ...]
"""Cost per hour of the machines that are bought by tier, the lowest first; of all together where there is one tier."""
Score = tuple[tuple[int, ...], Decimal]
"""Pods without a place by priority, the highest first, and the cost per hour of all machines that are bought."""


@dataclass(frozen=True)
class Best:
    """The best plan."""

    score: Score
    costs: Costs
    bought: tuple[Spot, ...]
    """Kinds of the machines to buy."""
    steps: tuple[tuple[str, int], ...]
    """Pods in an order in which the scheduler binds them, each with its machine: those that are there come first."""

    def told(self, given: SmallRound) -> str:
        """Return the plan in words."""
        names = [*(s.name for s in given.there), *(s.name for s in self.bought)]
        pods = [", ".join(pod for pod, m in self.steps if m == k) for k in range(len(names))]
        return "; ".join(
            f"{name}: {on or 'nothing'}"
            for k, (name, on) in enumerate(zip(names, pods, strict=True))
            if on or k >= len(given.there)
        )


def cheapest(given: SmallRound) -> Best:
    """Return the best plan.

    Raises:
        AssertionError: limits leave no way to keep the minimums.
    """
    rules = Rules(given)
    search = _Search(rules)
    for missing, wanted in _levels(given):
        hopeful = [each for each in wanted if search.is_conceivable(each)]
        if hopeful and (found := search.first(hopeful)) is not None:
            cost, bought, steps = found
            return Best((missing, sum(cost, Decimal(0))), cost, bought, steps)
    raise AssertionError("limits leave no room for the minimums")


def tiers_of(given: SmallRound) -> tuple[tuple[int, int], ...]:
    """Return the tiers of the kinds that can be bought, the lowest first; one at least."""
    return tuple(sorted({kind.tier for kind in given.kinds})) or ((0, 0),)


def _levels(given: SmallRound) -> Iterator[tuple[tuple[int, ...], list[Content]]]:
    """Yield pods without a place by priority, the fewest first, each with the numbers to place by workload."""
    tiers = sorted({w.priority for w in given.workloads}, reverse=True)
    numbers = [len(w.names) for w in given.workloads]
    levels: dict[tuple[int, ...], list[Content]] = {}
    for placed in product(*(range(n + 1) for n in numbers)):
        left = Counter[int]()
        for w, n, all_ in zip(given.workloads, placed, numbers, strict=True):
            left[w.priority] += all_ - n
        levels.setdefault(tuple(left[tier] for tier in tiers), []).append(placed)
    yield from sorted(levels.items())


class _Search:
    def __init__(self, rules: Rules) -> None:
        self._rules, self._given = rules, rules.given
        self._there = tuple(range(len(self._given.there)))
        kinds = [self._kind(k) for k in range(len(self._given.kinds))]
        useful = [any(row[s] for row in rules.is_open) for s in kinds]
        self._kinds = [
            k
            for k, is_useful in enumerate(useful)
            if is_useful or any(limit in self._given.missing for limit in self._given.kinds[k].limits)
        ]
        self._conceivable: dict[Content, bool] = {}
        self._all: Board | None = None

    def _kind(self, k: int) -> int:
        return len(self._there) + k

    def is_conceivable(self, wanted: Content) -> bool:
        """Return whether so many pods have a place where all machines that could help are there at once.

        First those alone that need none of the others: who only takes room is no help to them.
        """
        parts = {
            tuple(n if j in self._rules.kin[i] else 0 for j, n in enumerate(wanted)) for i, n in enumerate(wanted) if n
        }
        return all(self._is_conceivable(each) for each in (*sorted(parts, key=sum), wanted))

    def _is_conceivable(self, wanted: Content) -> bool:
        if self._all is None:
            most = sum(len(w.names) for w in self._given.workloads)
            spots = [self._kind(k) for k in self._kinds for _ in range(min(most, self._limit(k, most)))]
            self._all = Board(self._rules, (*self._there, *spots), is_relaxed=True)
        if wanted not in self._conceivable:
            self._conceivable[wanted] = self._all.end(wanted) is not None
        return self._conceivable[wanted]

    def _limit(self, k: int, most: int) -> int:
        takes = self._given.kinds[k].takes
        return min(self._given.left.get(limit, most * amount) // amount for limit, amount in takes.items())

    def first(self, wanted: list[Content]) -> tuple[Costs, tuple[Spot, ...], tuple[tuple[str, int], ...]] | None:
        """Return the least cost of placing any of these numbers, machines and steps, or None if none can be placed."""
        most = max(sum(each) for each in wanted) + sum(self._given.missing.values())
        for cost, bought in self._purchases(most):
            forced = self._forced(bought)
            if forced is None:
                continue
            board = Board(self._rules, (*self._there, *(self._kind(k) for k in bought)))
            for each in wanted:
                if len(bought) - forced <= sum(each) and (state := board.end(each, forced)) is not None:
                    return cost, tuple(self._given.kinds[k] for k in bought), self._steps(board, state)
        return None

    def _steps(self, board: Board, state: State) -> tuple[tuple[str, int], ...]:
        order = board.order(state)
        assert order is not None
        names = [iter(w.names) for w in self._given.workloads]
        return tuple((next(names[i]), m) for i, m in order)

    def _purchases(self, most: int) -> Iterator[tuple[Costs, tuple[int, ...]]]:
        """Yield all sets of machines within the limits, the cheapest first."""
        tiers = tiers_of(self._given)
        heap: list[tuple[Costs, tuple[int, ...]]] = [((Decimal(0),) * len(tiers), ())]
        while heap:
            cost, bought = heappop(heap)
            yield cost, bought
            if len(bought) == most:
                continue
            counts = Counter[Limit]()
            for k in bought:
                counts.update(self._given.kinds[k].takes)
            for k in self._kinds:
                kind = self._given.kinds[k]
                if bought and k < bought[-1]:
                    continue
                if all(
                    counts[limit] + amount <= self._given.left.get(limit, most * amount)
                    for limit, amount in kind.takes.items()
                ):
                    assert kind.price is not None
                    more = tuple(c + kind.price * (tier == kind.tier) for c, tier in zip(cost, tiers, strict=True))
                    heappush(heap, (more, (*bought, k)))

    def _forced(self, bought: tuple[int, ...]) -> int | None:
        """Return how many of these machines minimums ask for, or None if one is still missing."""
        counts = Counter[Limit](limit for k in bought for limit in self._given.kinds[k].limits)
        missing = self._given.missing
        return None if any(counts[limit] < n for limit, n in missing.items()) else sum(missing.values())
