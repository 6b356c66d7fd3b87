"""Best fit: of the machines that are filled around a pod, the one is bought that costs least for what it holds."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.packing.index import Counts, ProblemIndex
from planner.packing.pod_prices import SCALE, PodPrices
from planner.packing.problem import PackedNode

_CLOSE_BINS: Final = 5
"""How many bins are tried for a pod: those in which it costs least."""
_LOOKS: Final = 3_000
"""Groups times bins: with very many groups fewer bins are tried for each, so that a round stays short."""

_WELL_USED: Final = 1.03
"""Price over what its pods are worth, up to which a machine is bought at once."""
_PATIENCE: Final = 2
"""How often a group whose best machine is worse waits for others to be placed first."""


@dataclass(slots=True)
class Work:
    """Pods still to place, machines still allowed, and machines used."""

    left: list[int]
    limits_left: list[int]
    nodes: list[PackedNode]

    def copy(self) -> "Work":
        """Return work that goes on from here by itself."""
        return Work(list(self.left), list(self.limits_left), list(self.nodes))

    def use(self, index: ProblemIndex, b: int, counts: Counts) -> None:
        """Put these pods onto a machine, and onto as many more as pods and limits allow."""
        copies = min(index.most(b, self.limits_left), *(self.left[i] // n for i, n in counts.items()))
        self.nodes.extend([PackedNode(b, counts)] * copies)
        index.use(b, self.limits_left, copies)
        for i, n in counts.items():
            self.left[i] -= n * copies


@dataclass(frozen=True, slots=True)
class Taste:
    """What pods and machines are preferred; different tastes give different plans."""

    sharpness: float = 0.0
    """How much pods for which a machine is the right one go onto it before large ones."""
    is_scarce: bool = False
    """Whether not all pods can have a place: then those of a higher priority come first."""
    first: frozenset[int] = frozenset()
    """Groups whose pods come before others of their priority."""
    is_number_wanted: bool = False
    """Whether the smallest pods come first, on the machines that hold most of them."""


def fill(index: ProblemIndex, work: Work, order: Sequence[int]) -> None:
    """Place the pods that fit on free bins, in the order of their ranks; groups come in this order."""
    groups = index.problem.groups
    for b in index.free:
        order = [i for i in order if work.left[i]]
        allowed = [i for i in order if b in groups[i].bins]
        while index.is_allowed(b, work.limits_left):
            counts: Counts = {}
            index.fill(allowed, work.left, counts, list(index.capacity[b]))
            if not counts:
                break
            work.use(index, b, counts)


def buy(index: ProblemIndex, work: Work, prices: PodPrices, taste: Taste) -> None:
    """Buy machines for all pods as far as limits allow, first around those that cost most."""
    groups = [i for i, n in enumerate(work.left) if n and index.paid_bins[i]]
    close = len(index.paid) if taste.is_number_wanted else max(1, min(_CLOSE_BINS, _LOOKS // max(1, len(groups))))
    orders: dict[int, list[int]] = {}

    def rank(i: int, size: float) -> tuple[object, ...]:
        by_size = size if taste.is_number_wanted else -size
        return (-index.tier[i], i not in taste.first, by_size) if taste.is_scarce else (by_size,)

    def order(b: int) -> list[int]:
        """Return the groups that bin `b` may hold, in the order in which they fill it."""
        if b not in orders:
            members, capacity = [i for i in index.members[b] if work.left[i]], index.capacity[b]
            dominant = {i: max((d / capacity[r] for r, d in index.demand[i]), default=0.0) for i in members}
            fits = {i: (prices.pod[i] / (prices.share[i][b] or 1)) ** taste.sharpness for i in members}
            orders[b] = sorted(members, key=lambda i: rank(i, dominant[i] * fits[i]))
        return orders[b]

    def machine(seed: int, b: int) -> tuple[float, int, Counts]:
        """Return how bad a machine is that is filled with pods of a group, then others; its bin, and its pods."""
        counts: Counts = {}
        index.fill([seed, *order(b)], work.left, counts, list(index.capacity[b]))
        cheapest = index.cheapest(counts, work.limits_left)
        chosen = b if cheapest is None else cheapest
        if taste.is_number_wanted:
            return -sum(counts.values()), chosen, counts
        worth = sum(prices.pod[i] * n for i, n in counts.items())
        return index.price[chosen] * SCALE / max(1, worth), chosen, counts

    patience = 0 if taste.is_scarce or close == 1 else _PATIENCE
    queue, waited = deque(sorted(groups, key=lambda i: rank(i, index.alone[i]))), Counter[int]()
    while queue:
        seed = queue.popleft()
        while work.left[seed]:
            allowed = [b for b in index.paid_bins[seed] if index.is_allowed(b, work.limits_left)]
            near = sorted(allowed, key=lambda b: (prices.share[seed][b], index.price[b]))[:close]
            if not near:
                break
            badness, b, counts = min((machine(seed, b) for b in near), key=lambda one: one[0])
            if badness > _WELL_USED and waited[seed] < patience and queue:
                waited[seed] += 1
                queue.append(seed)
                break
            work.use(index, b, counts)
