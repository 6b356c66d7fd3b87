"""Constructions: ways to buy machines for pods, one machine pattern after the other.

None is always the best, so several are tried and the cheapest wins. `by_loss` is the one that
usually does; `by_type` is the rule of Cluster Autoscaler, so that no plan is dearer than what that
would buy; `by_number` is for the case that limits bind. All of these compare groups with each other, which takes
minutes where every pod is one of its own: for that, `by_nearest` buys each the machine where it costs least alone.
Source: the loss-based greedy and the peers' rules of this project's study of packing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.packing.greedy.index import Counts, ProblemIndex
from planner.packing.greedy.pod_prices import SCALE, PodPrices
from planner.packing.problem import PackedNode

_CLOSE_BINS: Final = 4
"""How many bins are tried for a seed: beyond the first few, its price is plainly worse."""
_PATIENCE: Final = 2
"""How often a seed whose best machine would be badly used waits for others to be placed first."""
_WELL_USED: Final = 0.97
"""Value over price from which a machine is bought at once."""
_POORLY_USED: Final = 0.93
"""Value over price below which a cheaper machine is looked for that holds the same pods."""

MOST_CLASSES: Final = 1500
"""Up to so many classes, the other constructions take seconds at most."""


@dataclass(slots=True)
class Work:
    """Pods still to place, machines still allowed, and machines bought."""

    left: list[int]
    limits_left: list[int]
    nodes: list[PackedNode]

    def buy(self, index: ProblemIndex, b: int, counts: Counts, copies: int) -> None:
        """Buy this machine so many times."""
        node = PackedNode(b, counts)
        self.nodes.extend([node] * copies)
        index.use(b, self.limits_left, copies)
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


def by_loss(index: ProblemIndex, work: Work, prices: PodPrices, taste: Taste, lanes: int) -> None:
    """Buy machines so that each wastes as little of its price as possible.

    The pod that costs most is the seed; machines around some of it are filled with what fits best,
    and of those the one that loses least of its price per seed is bought, as often as it can be.
    At most `lanes` machines are compared each time.
    """
    _ByLoss(index, work, prices, taste, lanes).run()


class _ByLoss:
    def __init__(self, index: ProblemIndex, work: Work, prices: PodPrices, taste: Taste, lanes: int) -> None:
        self._index = index
        self._work = work
        self._prices = prices
        self._taste = taste
        self._lanes = lanes
        self._orders: dict[int, list[int]] = {}

    def run(self) -> None:
        index, work = self._index, self._work
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
            used = value / (index.price[b] * SCALE)
            if used < _WELL_USED and waited.get(seed, 0) < _PATIENCE and queue:
                waited[seed] = waited.get(seed, 0) + 1
                queue.insert(1 + len(queue) // 2, seed)
                continue
            work.buy(
                index, b, counts, min(index.most(b, work.limits_left), *(work.left[i] // n for i, n in counts.items()))
            )
            if work.left[seed]:
                queue.insert(0, seed)

    def _seeds(self) -> list[int]:
        index, taste = self._index, self._taste
        groups = [i for i, n in enumerate(self._work.left) if n and index.paid_bins[i]]

        def size(i: int) -> tuple[int, float]:
            return (-index.tier[i] if taste.tiers_first else 0, -index.alone[i] * taste.factor(i))

        return sorted(groups, key=size)

    def _best_lane(self, seed: int) -> tuple[int, Counts, int] | None:
        """Return the machine with the least loss per seed pod: bin, pods and their value."""
        index, work, prices = self._index, self._work, self._prices
        best: tuple[float, int, Counts, int] | None = None
        close = self._close_bins(seed)
        for b in close:
            capacity = index.capacity[b]
            most = min(work.left[seed], index.fitting(seed, b))
            for quantity in _quantities(most, self._lanes // len(close)):
                counts = {seed: quantity}
                free = list(capacity)
                for r, d in index.demand[seed]:
                    free[r] -= d * quantity
                index.fill(self._order(b), work.left, counts, free)
                value = sum(prices.pod[i] * n for i, n in counts.items())
                chosen = b
                if value < _POORLY_USED * index.price[b] * SCALE:
                    cheaper = index.cheapest(counts, work.limits_left, index.price[b])
                    chosen = b if cheaper is None else cheaper
                loss = (index.price[chosen] * SCALE - value) / counts[seed]
                if best is None or loss < best[0]:
                    best = (loss, chosen, counts, value)
        return None if best is None else best[1:]

    def _close_bins(self, seed: int) -> list[int]:
        """Return the bins in which the seed costs least, and the cheapest one that holds it."""
        index, share = self._index, self._prices.share[seed]
        allowed = [b for b in index.paid_bins[seed] if index.is_allowed(b, self._work.limits_left)]
        close = sorted(allowed, key=lambda b: (share[b], index.price[b]))[: min(_CLOSE_BINS, self._lanes)]
        return close if not allowed or allowed[0] in close else [*close, allowed[0]]

    def _order(self, b: int) -> list[int]:
        """Return the groups that bin `b` may hold, in the order in which they fill it."""
        if b not in self._orders:
            index, prices, taste = self._index, self._prices, self._taste
            capacity = index.capacity[b]

            def score(i: int) -> tuple[int, float]:
                dominant = max((d / capacity[r] for r, d in index.demand[i]), default=0.0)
                share = prices.share[i].get(b, 0)
                fits = (prices.pod[i] / share) ** taste.sharpness if share else 1.0
                return (-index.tier[i] if taste.tiers_first else 0, -dominant * fits * taste.factor(i))

            left = self._work.left
            self._orders[b] = sorted((i for i in index.members[b] if left[i]), key=score)
        return self._orders[b]


def _quantities(most: int, lanes: int) -> Sequence[int]:
    wanted = (most, 1, (most + 1) // 2, most - 1, (most + 3) // 4, (3 * most) // 4)
    quantities: list[int] = []
    for quantity in wanted[: max(1, lanes)]:
        if 0 < quantity <= most and quantity not in quantities:
            quantities.append(quantity)
    return quantities


def by_type(index: ProblemIndex, work: Work, prices: PodPrices) -> None:
    """Buy the one type that gives most value for its money, then the next, as Cluster Autoscaler's price expander."""

    def worth(b: int, nodes: Sequence[Counts]) -> float:
        value = sum(prices.pod[i] * n for counts in nodes for i, n in counts.items())
        return value / (index.price[b] * len(nodes))

    _by_best_type(index, work, worth, large_first=True)


def by_number(index: ProblemIndex, work: Work) -> None:
    """Buy the machines that give most pods a place, those of the highest tier first: for when limits bind."""

    def placed(_: int, nodes: Sequence[Counts]) -> float:
        return max(sum(counts.values()) for counts in nodes)

    _by_best_type(index, work, placed, large_first=False)


def _by_best_type(
    index: ProblemIndex, work: Work, judge: Callable[[int, Sequence[Counts]], float], *, large_first: bool
) -> None:
    while True:
        best: tuple[float, int, list[Counts]] | None = None
        for b in index.paid:
            if index.is_allowed(b, work.limits_left):
                order = _by_size(index, work, b, large_first=large_first)
                nodes = _fill_many(index, work, b, order, index.most(b, work.limits_left) if large_first else 1)
                if nodes and (best is None or judge(b, nodes) > best[0]):
                    best = (judge(b, nodes), b, nodes)
        if best is None:
            return
        _, b, nodes = best
        for counts in nodes:
            cheaper = index.cheapest(counts, work.limits_left, index.price[b])
            work.buy(index, b if cheaper is None else cheaper, counts, 1)


def _by_size(index: ProblemIndex, work: Work, b: int, *, large_first: bool) -> list[int]:
    capacity = index.capacity[b]

    def size(i: int) -> tuple[int, float]:
        share = sum(d / capacity[r] for r, d in index.demand[i])
        return -index.tier[i], -share if large_first else share

    return sorted((i for i in index.members[b] if work.left[i]), key=size)


def _fill_many(index: ProblemIndex, work: Work, b: int, order: Sequence[int], most: int) -> list[Counts]:
    left = list(work.left)
    nodes: list[Counts] = []
    while len(nodes) < most:
        counts: Counts = {}
        index.fill(order, left, counts, list(index.capacity[b]))
        if not counts:
            break
        copies = min(most - len(nodes), *(left[i] // n for i, n in counts.items()))
        nodes.extend([counts] * copies)
        for i, n in counts.items():
            left[i] -= n * copies
    return nodes


def by_nearest(index: ProblemIndex, work: Work) -> None:
    """Buy machines for all pods, kind by kind, the largest pods first; again for those that limits left out."""
    has_bought = True
    while has_bought:
        has_bought = False
        for b, groups in _nearest(index, work).items():
            capacity = index.capacity[b]
            rest = sorted(
                groups, key=lambda i: (-index.tier[i], -max((d / capacity[r] for r, d in index.demand[i]), default=0.0))
            )
            while rest and index.is_allowed(b, work.limits_left):
                counts: Counts = {}
                index.fill(rest, work.left, counts, list(capacity))
                copies = min(index.most(b, work.limits_left), *(work.left[i] // n for i, n in counts.items()))
                work.buy(index, b, counts, copies)
                rest = [i for i in rest if work.left[i]]
                has_bought = True


def _nearest(index: ProblemIndex, work: Work) -> dict[int, list[int]]:
    groups_by_bin: dict[int, list[int]] = {}
    for i, left in enumerate(work.left):
        allowed = [b for b in index.paid_bins[i] if left and index.is_allowed(b, work.limits_left)]
        if allowed:
            groups_by_bin.setdefault(min(allowed, key=lambda b: index.price[b] / index.fitting(i, b)), []).append(i)
    return groups_by_bin


def trimmed(index: ProblemIndex, work: Work) -> list[PackedNode]:
    """Return the machines, each the cheapest that holds its pods, and of equally cheap ones that of the lowest rank."""
    limits_left = list(work.limits_left)
    nodes: list[PackedNode] = []
    for node in work.nodes:
        if not index.price[node.bin]:
            nodes.append(node)
            continue
        index.use(node.bin, limits_left, -1)
        best = index.cheapest(node.counts, limits_left)
        nodes.append(node if best is None else PackedNode(best, node.counts))
        index.use(nodes[-1].bin, limits_left)
    return nodes
