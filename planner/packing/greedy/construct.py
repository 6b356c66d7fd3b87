"""Constructions: ways to buy machines for pods, one machine pattern after the other.

None is always the best, so several are tried and the cheapest wins. `by_loss` is the one that
usually does; `by_type` is the rule of Cluster Autoscaler, so that no plan is dearer than what that
would buy; `by_number` is for the case that limits bind.
Source: the loss-based greedy and the peers' rules of this project's study of packing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.packing.greedy.index import Arena, Counts
from planner.packing.greedy.pod_prices import SCALE, Prices
from planner.packing.problem import PackedNode

_CLOSE_BINS: Final = 4
"""How many bins are tried for a seed: beyond the first few, its price is plainly worse."""
_PATIENCE: Final = 2
"""How often a seed whose best machine would be badly used waits for others to be placed first."""
_WELL_USED: Final = 0.97
"""Value over price from which a machine is bought at once."""
_POORLY_USED: Final = 0.93
"""Value over price below which a cheaper machine is looked for that holds the same pods."""


@dataclass(slots=True)
class Work:
    """Pods still to place, machines still allowed, and what has been bought."""

    left: list[int]
    room: list[int]
    nodes: list[PackedNode]

    def buy(self, arena: Arena, b: int, counts: Counts, copies: int) -> None:
        """Buy this machine so many times."""
        node = PackedNode(b, counts)
        self.nodes.extend([node] * copies)
        arena.use(b, self.room, copies)
        for i, n in counts.items():
            self.left[i] -= n * copies


@dataclass(frozen=True, slots=True)
class Taste:
    """How `by_loss` fills a machine; different tastes give different plans."""

    sharpness: float = 6.0
    """How much it prefers pods for which this machine is the right one over large pods."""
    skew: tuple[float, ...] = ()
    """Factor per group, to vary the order; none means 1."""
    tiers_first: bool = False
    """Whether pods of a higher priority always come first: for when not all can have a place."""

    def factor(self, group: int) -> float:
        """Return the factor of a group."""
        return self.skew[group] if self.skew else 1.0


def by_loss(arena: Arena, work: Work, prices: Prices, taste: Taste, lanes: int) -> None:
    """Buy machines so that each wastes as little of its price as possible.

    The pod that costs most is the seed; machines around some of it are filled with what fits best,
    and of those the one that loses least of its price per seed is bought, as often as it can be.
    At most `lanes` machines are compared each time.
    """
    _ByLoss(arena, work, prices, taste, lanes).run()


class _ByLoss:
    def __init__(self, arena: Arena, work: Work, prices: Prices, taste: Taste, lanes: int) -> None:
        self._arena = arena
        self._work = work
        self._prices = prices
        self._taste = taste
        self._lanes = lanes
        self._orders: dict[int, list[int]] = {}

    def run(self) -> None:
        arena, work = self._arena, self._work
        waited: dict[int, int] = {}
        queue = self._seeds()
        while queue:
            seed = queue.pop(0)
            if not work.left[seed]:
                continue
            best = self._best_lane(seed)
            if best is None:
                continue
            b, counts, value = best
            used = value / (arena.price[b] * SCALE)
            if used < _WELL_USED and waited.get(seed, 0) < _PATIENCE and queue:
                waited[seed] = waited.get(seed, 0) + 1
                queue.insert(1 + len(queue) // 2, seed)
                continue
            work.buy(arena, b, counts, min(arena.most(b, work.room), *(work.left[i] // n for i, n in counts.items())))
            if work.left[seed]:
                queue.insert(0, seed)

    def _seeds(self) -> list[int]:
        arena, taste = self._arena, self._taste
        groups = [i for i, n in enumerate(self._work.left) if n and arena.paid_bins[i]]

        def size(i: int) -> tuple[int, float]:
            return (-arena.tier[i] if taste.tiers_first else 0, -arena.alone[i] * taste.factor(i))

        return sorted(groups, key=size)

    def _best_lane(self, seed: int) -> tuple[int, Counts, int] | None:
        """Return the machine with the least loss per seed pod: bin, pods and their value."""
        arena, work, prices = self._arena, self._work, self._prices
        best: tuple[float, int, Counts, int] | None = None
        close = self._close_bins(seed)
        for b in close:
            capacity = arena.capacity[b]
            most = min(work.left[seed], arena.fitting(seed, b))
            for quantity in _quantities(most, self._lanes // len(close)):
                counts = {seed: quantity}
                free = list(capacity)
                for r, d in arena.demand[seed]:
                    free[r] -= d * quantity
                arena.fill(self._order(b), work.left, counts, free)
                value = sum(prices.pod[i] * n for i, n in counts.items())
                chosen = b
                if value < _POORLY_USED * arena.price[b] * SCALE:
                    cheaper = arena.cheapest(counts, work.room, arena.price[b])
                    chosen = b if cheaper is None else cheaper
                loss = (arena.price[chosen] * SCALE - value) / counts[seed]
                if best is None or loss < best[0]:
                    best = (loss, chosen, counts, value)
        return None if best is None else best[1:]

    def _close_bins(self, seed: int) -> list[int]:
        """Return the bins in which the seed costs least, and the cheapest one that holds it."""
        arena, share = self._arena, self._prices.share[seed]
        allowed = [b for b in arena.paid_bins[seed] if arena.has_room(b, self._work.room)]
        close = sorted(allowed, key=lambda b: (share[b], arena.price[b]))[: min(_CLOSE_BINS, self._lanes)]
        return close if not allowed or allowed[0] in close else [*close, allowed[0]]

    def _order(self, b: int) -> list[int]:
        """Return the groups that bin `b` may hold, in the order in which they fill it."""
        if b not in self._orders:
            arena, prices, taste = self._arena, self._prices, self._taste
            capacity = arena.capacity[b]

            def score(i: int) -> tuple[int, float]:
                dominant = max((d / capacity[r] for r, d in arena.demand[i]), default=0.0)
                share = prices.share[i].get(b, 0)
                fits = (prices.pod[i] / share) ** taste.sharpness if share else 1.0
                return (-arena.tier[i] if taste.tiers_first else 0, -dominant * fits * taste.factor(i))

            left = self._work.left
            self._orders[b] = sorted((i for i in arena.members[b] if left[i]), key=score)
        return self._orders[b]


def _quantities(most: int, lanes: int) -> Sequence[int]:
    wanted = (most, 1, (most + 1) // 2, most - 1, (most + 3) // 4, (3 * most) // 4)
    found: list[int] = []
    for quantity in wanted[: max(1, lanes)]:
        if 0 < quantity <= most and quantity not in found:
            found.append(quantity)
    return found


def by_type(arena: Arena, work: Work, prices: Prices) -> None:
    """Buy the one type that gives most value for its money, then the next, as Cluster Autoscaler's price expander."""

    def worth(b: int, nodes: Sequence[Counts]) -> float:
        value = sum(prices.pod[i] * n for counts in nodes for i, n in counts.items())
        return value / (arena.price[b] * len(nodes))

    _by_best_type(arena, work, worth, large_first=True)


def by_number(arena: Arena, work: Work) -> None:
    """Buy what gives most pods a place, those of the highest tier first: for when limits bind."""

    def placed(_: int, nodes: Sequence[Counts]) -> float:
        return max(sum(counts.values()) for counts in nodes)

    _by_best_type(arena, work, placed, large_first=False)


def _by_best_type(
    arena: Arena, work: Work, judge: Callable[[int, Sequence[Counts]], float], *, large_first: bool
) -> None:
    while True:
        best: tuple[float, int, list[Counts]] | None = None
        for b in arena.paid:
            if arena.has_room(b, work.room):
                order = _by_size(arena, work, b, large_first=large_first)
                nodes = _fill_many(arena, work, b, order, arena.most(b, work.room) if large_first else 1)
                if nodes and (best is None or judge(b, nodes) > best[0]):
                    best = (judge(b, nodes), b, nodes)
        if best is None:
            return
        _, b, nodes = best
        for counts in nodes:
            cheaper = arena.cheapest(counts, work.room, arena.price[b])
            work.buy(arena, b if cheaper is None else cheaper, counts, 1)


def _by_size(arena: Arena, work: Work, b: int, *, large_first: bool) -> list[int]:
    capacity = arena.capacity[b]

    def size(i: int) -> tuple[int, float]:
        share = sum(d / capacity[r] for r, d in arena.demand[i])
        return -arena.tier[i], -share if large_first else share

    return sorted((i for i in arena.members[b] if work.left[i]), key=size)


def _fill_many(arena: Arena, work: Work, b: int, order: Sequence[int], most: int) -> list[Counts]:
    left = list(work.left)
    nodes: list[Counts] = []
    while len(nodes) < most:
        counts: Counts = {}
        arena.fill(order, left, counts, list(arena.capacity[b]))
        if not counts:
            break
        copies = min(most - len(nodes), *(left[i] // n for i, n in counts.items()))
        nodes.extend([counts] * copies)
        for i, n in counts.items():
            left[i] -= n * copies
    return nodes
