"""Pods that must share a machine with pods of another class of the same round: they are bought for together.

A pod whose affinity over the host name looks for pods that have no machine yet cannot be planned by
itself, and a machine that is bought for those alone may have no room for it. So it goes along: an
item of the other class takes it as company, and the packer sees the two as one.
Source: kube-scheduler's plugin InterPodAffinity; the pods of one item land one after the other.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.packing.domains.domains import Cell, Option, Share, Split, Wish, taken


@dataclass(frozen=True, slots=True)
class Joiner:
    """Pods of a class that look for company."""

    ask: int
    count: int
    bins: frozenset[int]
    """Bins that may hold one, company aside."""
    per_node: int
    may_go: Callable[[Cell], bool]
    """Whether one more pod may go to this cell, as far as its other constraints go."""
    settle: Callable[[Cell], None] | None
    """Told of each pod's cell, where that matters to others; else its pods need not be tied to one."""


@dataclass(frozen=True, slots=True)
class _Lot:
    """Items of one share that have the same company."""

    share: int
    cell: Cell | None
    guests: int


@dataclass(frozen=True, slots=True)
class Bins:
    """All bins."""

    options: Sequence[Option]
    cells: Sequence[Cell]
    """Of each."""


def join(answer: Split, welcome: Sequence[int], joiner: Joiner, wishes: Sequence[Wish], bins: Bins) -> int:
    """Give the shares of `answer` company, and return how many pods found one; no item takes many more than another.

    Args:
        answer: the split so far.
        welcome: indexes of the shares with a pod that the joiner looks for, and none that it must avoid.
        joiner: who looks for company.
        wishes: all classes.
        bins: where they may go.
    """
    joining = _Joining(answer, welcome, joiner, wishes, bins)
    seated = joining.run()
    answer.shares = joining.shares()
    return seated


class _Joining:
    def __init__(
        self, answer: Split, welcome: Sequence[int], joiner: Joiner, wishes: Sequence[Wish], bins: Bins
    ) -> None:
        self._shares = tuple(answer.shares)
        self._rations = tuple(answer.rations)
        self._joiner = joiner
        self._bins = bins
        self._known: dict[_Lot, frozenset[int]] = {}
        self._demand = taken(((joiner.ask, 1),), wishes, self._rations)
        self._loads = {k: taken(self._shares[k].pods, wishes, self._rations) for k in welcome}
        self._cells = {k: self._cells_of(self._shares[k]) for k in welcome}
        self._most = {(k, cell): self._fitting(k, cell) for k, cells in self._cells.items() for cell in cells}
        self._lots = Counter({_Lot(k, None, 0): self._shares[k].count for k in welcome})

    def run(self) -> int:
        """Return how many pods found company."""
        for seated in range(self._joiner.count):
            move = self._next()
            if move is None:
                return seated
            before, after = move
            self._lots[before] -= 1
            self._lots[after] += 1
            if self._joiner.settle is not None and after.cell is not None:
                self._joiner.settle(after.cell)
        return self._joiner.count

    def _next(self) -> tuple[_Lot, _Lot] | None:
        """Return which item takes the next pod, as what it is before and after."""
        moves = (
            (lot, _Lot(lot.share, cell, lot.guests + 1))
            for lot, number in self._lots.items()
            if number
            for cell in (self._cells[lot.share] if lot.cell is None else [lot.cell])
            if lot.guests < self._most[lot.share, cell] and (cell is None or self._joiner.may_go(cell))
        )
        return min(moves, key=lambda move: (move[1].guests, move[1].share, self._price(move[1])), default=None)

    def _price(self, lot: _Lot) -> int:
        return min((self._bins.options[b].price for b in self._taking(lot)), default=0)

    def _cells_of(self, share: Share) -> list[Cell | None]:
        if self._joiner.settle is None:
            return [None]
        common = share.bins & self._joiner.bins
        return list(dict.fromkeys(self._bins.cells[b] for b in sorted(common)))

    def _allowed(self, k: int, cell: Cell | None) -> list[int]:
        common = sorted(self._shares[k].bins & self._joiner.bins)
        if cell is not None:
            return [b for b in common if self._bins.cells[b] == cell]
        return [b for b in common if self._joiner.may_go(self._bins.cells[b])]

    def _room(self, k: int, b: int) -> int:
        """Return how many pods fit beside an item of share `k` on an empty machine of bin `b`."""
        capacity = (*self._bins.options[b].capacity, *(ration.has(b) for ration in self._rations))
        rest = zip(capacity, self._loads[k], self._demand, strict=True)
        return min(((c - load) // d for c, load, d in rest if d), default=self._joiner.count)

    def _fitting(self, k: int, cell: Cell | None) -> int:
        most = max((self._room(k, b) for b in self._allowed(k, cell)), default=0)
        return min(most, self._joiner.per_node, self._joiner.count)

    def _taking(self, lot: _Lot) -> frozenset[int]:
        if lot not in self._known:
            allowed = self._allowed(lot.share, lot.cell)
            self._known[lot] = frozenset(b for b in allowed if self._room(lot.share, b) >= lot.guests)
        return self._known[lot]

    def shares(self) -> list[Share]:
        """Return all shares, those with company in the place of what they were."""
        found: list[Share] = []
        for k, share in enumerate(self._shares):
            mine = sorted((lot for lot, n in self._lots.items() if n and lot.share == k), key=lambda lot: -lot.guests)
            if not mine:
                found.append(share)
            for lot in mine:
                part = replace(share, count=self._lots[lot])
                if lot.guests:
                    part = replace(
                        part,
                        bins=self._taking(lot),
                        cell=lot.cell or share.cell,
                        company=(*share.company, (self._joiner.ask, lot.guests)),
                        is_first=True,
                    )
                found.append(part)
        return found
