"""Pods that must share a machine with pods of another group of the same round: they are bought for together.

A pod whose affinity over the host name looks for pods that have no machine yet cannot be planned by
itself, and a machine that is bought for those alone may have no room for it. So it follows: it is added
to an item of the other group, its leader, and the packer sees the two as one.
Source: kube-scheduler's plugin InterPodAffinity; the pods of one item land one after the other.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.packing.domains.domains import Cell, PackingInput, Share, Split, taken


@dataclass(frozen=True, slots=True)
class Follower:
    """Pods of a group that must be beside pods of another group."""

    group: int
    count: int
    bins: frozenset[int]
    """Bins that may hold one, leaders aside."""
    per_node: int
    may_go: Callable[[Cell], bool]
    """Whether one more pod may go to this cell, as far as its other constraints go."""
    settle: Callable[[Cell], None] | None
    """Records the cell of each pod, where it matters to others; without it, pods need not be tied to a cell."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Items of one share with the same number of followers."""

    share: int
    cell: Cell | None
    followers: int


def colocate(
    answer: Split, leaders: Sequence[int], follower: Follower, given: PackingInput, cells: Sequence[Cell]
) -> int:
    """Add followers to the shares of `answer`, evenly, and return how many pods were added.

    Args:
        answer: the split so far.
        leaders: indexes of the shares with a pod that the follower needs, and none that it must avoid.
        follower: the pods to add.
        given: all groups and kinds.
        cells: the cell of each kind.
    """
    colocation = _Colocation(answer, leaders, follower, given, cells)
    placed = colocation.run()
    answer.shares = colocation.shares()
    return placed


class _Colocation:
    def __init__(
        self, answer: Split, leaders: Sequence[int], follower: Follower, given: PackingInput, cells: Sequence[Cell]
    ) -> None:
        self._shares = tuple(answer.shares)
        self._rations = tuple(answer.rations)
        self._follower = follower
        self._given, self._cells_of_kinds = given, cells
        self._known: dict[_Batch, frozenset[int]] = {}
        self._demand = taken(((follower.group, 1),), given.demands, self._rations)
        self._loads = {k: taken(self._shares[k].pods, given.demands, self._rations) for k in leaders}
        self._cells = {k: self._cells_of(self._shares[k]) for k in leaders}
        self._most = {(k, cell): self._fitting(k, cell) for k, cells in self._cells.items() for cell in cells}
        self._batches = Counter({_Batch(k, None, 0): self._shares[k].count for k in leaders})

    def run(self) -> int:
        """Add followers one by one, and return their number."""
        for placed in range(self._follower.count):
            move = self._next()
            if move is None:
                return placed
            before, after = move
            self._batches[before] -= 1
            self._batches[after] += 1
            if self._follower.settle is not None and after.cell is not None:
                self._follower.settle(after.cell)
        return self._follower.count

    def _next(self) -> tuple[_Batch, _Batch] | None:
        """Return the batch of the item that takes the next pod, before and after."""
        moves = (
            (batch, _Batch(batch.share, cell, batch.followers + 1))
            for batch, number in self._batches.items()
            if number
            for cell in (self._cells[batch.share] if batch.cell is None else [batch.cell])
            if batch.followers < self._most[batch.share, cell] and (cell is None or self._follower.may_go(cell))
        )
        return min(moves, key=lambda move: (move[1].followers, move[1].share, self._price(move[1])), default=None)

    def _price(self, batch: _Batch) -> int:
        return min((self._given.bins[b].price for b in self._taking(batch)), default=0)

    def _cells_of(self, share: Share) -> list[Cell | None]:
        if self._follower.settle is None:
            return [None]
        common = share.bins & self._follower.bins
        return list(dict.fromkeys(self._cells_of_kinds[b] for b in sorted(common)))

    def _allowed(self, k: int, cell: Cell | None) -> list[int]:
        common = sorted(self._shares[k].bins & self._follower.bins)
        if cell is not None:
            return [b for b in common if self._cells_of_kinds[b] == cell]
        return [b for b in common if self._follower.may_go(self._cells_of_kinds[b])]

    def _room(self, k: int, b: int) -> int:
        """Return the number of followers that fit beside an item of share `k` on an empty machine of bin `b`."""
        capacity = (*self._given.bins[b].capacity, *(ration.has(b) for ration in self._rations))
        rest = zip(capacity, self._loads[k], self._demand, strict=True)
        return min(((c - load) // d for c, load, d in rest if d), default=self._follower.count)

    def _fitting(self, k: int, cell: Cell | None) -> int:
        most = max((self._room(k, b) for b in self._allowed(k, cell)), default=0)
        return min(most, self._follower.per_node, self._follower.count)

    def _taking(self, batch: _Batch) -> frozenset[int]:
        if batch not in self._known:
            allowed = self._allowed(batch.share, batch.cell)
            self._known[batch] = frozenset(b for b in allowed if self._room(batch.share, b) >= batch.followers)
        return self._known[batch]

    def shares(self) -> list[Share]:
        """Return all shares; those with followers replace the ones without."""
        shares: list[Share] = []
        for k, share in enumerate(self._shares):
            batches = sorted(
                (batch for batch, n in self._batches.items() if n and batch.share == k),
                key=lambda batch: -batch.followers,
            )
            if not batches:
                shares.append(share)
            for batch in batches:
                part = replace(share, count=self._batches[batch])
                if batch.followers:
                    part = replace(
                        part,
                        bins=self._taking(batch),
                        cell=batch.cell or share.cell,
                        followers=(*share.followers, (self._follower.group, batch.followers)),
                        is_first=True,
                    )
                shares.append(part)
        return shares
