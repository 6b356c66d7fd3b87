"""A few pods are packed exactly: every way to share machines is looked at, and the cheapest is proven to be so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.packing.index import Counts, ProblemIndex
from planner.packing.problem import PackedNode

MOST_PODS: Final = 16
_MOST_VISITS: Final = 15_000
"""Pods put on a machine, in all: some 0.1 s. What is not finished by then proves nothing."""


@dataclass(slots=True)
class _Open:
    """A machine in the making."""

    counts: Counts
    load: list[int]
    bins: tuple[int, ...]
    """Paid bins that may hold its pods, the cheapest first."""
    bin: int
    """The cheapest of them that is large enough."""


def cheapest_sharing(index: ProblemIndex, left: Sequence[int], below: int) -> tuple[bool, list[PackedNode] | None]:
    """Return whether the search was finished, and the cheapest machines for these pods that cost less than `below`.

    Limits are not looked at: with them, nothing can cost less. Finished and without an answer, it
    proves that nothing costs less than `below`.
    """
    pods = [i for i in sorted(range(len(left)), key=lambda i: -index.alone[i]) for _ in range(left[i])]
    if len(pods) > MOST_PODS:
        return False, None
    search = _Search(index, pods, below)
    search.place(0, 0, 0)
    return search.visits <= _MOST_VISITS, search.best


class _Search:
    def __init__(self, index: ProblemIndex, pods: Sequence[int], below: int) -> None:
        self._index = index
        self._pods = pods
        self._below = below
        self._machines: list[_Open] = []
        self.best: list[PackedNode] | None = None
        self.visits = 0

    def place(self, k: int, cost: int, first: int) -> None:
        """Place pod `k` and all after it; `cost` is that of the machines so far.

        A machine's price only rises with further pods, so a branch that costs too much ends. Equal
        pods go to machines in ascending order, from `first` on, and of equal machines to the first:
        other ways are the same plan.
        """
        if k == len(self._pods):
            self._below = cost
            self.best = [PackedNode(m.bin, dict(m.counts)) for m in self._machines]
            return
        i = self._pods[k]
        follows_equal = k + 1 < len(self._pods) and self._pods[k + 1] == i
        tried: list[Counts] = []
        for position in range(first, len(self._machines) + 1):
            self.visits += 1
            if self.visits > _MOST_VISITS:
                return
            before = self._machines[position] if position < len(self._machines) else None
            if before is not None:
                if before.counts in tried:
                    continue
                tried.append(before.counts)
            grown = self._with(i, before)
            if grown is None:
                continue
            price = self._index.price
            total = cost + price[grown.bin] - (0 if before is None else price[before.bin])
            if total >= self._below:
                continue
            self._machines[position : position + 1] = [grown]
            self.place(k + 1, total, position if follows_equal else 0)
            self._machines[position : position + 1] = [] if before is None else [before]

    def _with(self, i: int, machine: _Open | None) -> _Open | None:
        """Return the machine with one more pod of group `i`, None if it may not be on it."""
        index = self._index
        if machine is None:
            counts, load, bins = {i: 1}, [0] * len(index.capacity[0]), index.paid_bins[i]
        else:
            number = machine.counts.get(i, 0)
            if number >= index.per_node[i] or not index.apart[i].isdisjoint(machine.counts):
                return None
            counts = {**machine.counts, i: number + 1}
            load = list(machine.load)
            bins = machine.bins if number else tuple(b for b in machine.bins if b in index.problem.groups[i].bins)
        for r, d in index.demand[i]:
            load[r] += d
        for b in bins:
            if all(have >= amount for have, amount in zip(index.capacity[b], load, strict=True)):
                return _Open(counts, load, bins, b)
        return None
