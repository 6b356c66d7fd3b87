"""The packing problem in numbers: one row a pod group, one row a machine kind; and the answer of a packer.

Every packer takes it: the optimiser, which gets it over a socket, and `planner.packing.fallback.pack`, which stands in
for it. So it holds numbers only, by position; `PackingInput` holds the groups and kinds of the same positions.
Source: the formulation as multiple-choice vector bin packing over pod classes and bin classes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planner.packing.topology import Topology


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A pod group, or a part of one, in numbers."""

    demand: tuple[int, ...]
    """What one takes, by resource index."""
    count: int
    bins: frozenset[int]
    """Bins that may hold it, as indexes; room aside, but one of them fits into each when it is empty."""
    tier: int = 0
    """Priority: a higher one gets a place first when not all can have one."""
    per_node: int | None = None
    """How many may share a machine."""
    apart: frozenset[int] = frozenset()
    """Other groups of which none may share a machine with it; symmetric."""


@dataclass(frozen=True, slots=True)
class BinRow:
    """A machine kind in numbers: as many machines as its limits allow."""

    capacity: tuple[int, ...]
    """By resource index."""
    price: int
    """Per hour, in billionths of the currency. 0 for capacity that is there or is paid for anyway."""
    limits: tuple[int, ...] = ()
    """Limits that each such machine counts towards, as indexes."""
    rank: int = 0
    """Free bins of a lower rank are filled first; of equally dear ones the lower rank is bought."""
    amounts: tuple[int, ...] = ()
    """What one machine takes of each of `limits`, at least 1; empty where it is 1 of each."""
    turn: int = 0
    """Machines of a lower turn are bought first, whatever they cost. No packer looks at it: they are asked in turns."""

    @property
    def taken(self) -> Iterable[tuple[int, int]]:
        """Each limit that such a machine counts towards, with what it takes of it."""
        return zip(self.limits, self.amounts or (1,) * len(self.limits), strict=True)

    def most(self, limits_left: Sequence[int], wanted: int) -> int:
        """Return how many of the `wanted` machines limits allow that leave so much."""
        return min([wanted, *(limits_left[limit] // amount for limit, amount in self.taken)])


@dataclass(frozen=True, slots=True)
class TopUp:
    """Machines that are bought without pods where pods need fewer: a pool keeps so many."""

    bins: frozenset[int]
    """Of any of these a machine counts."""
    number: int
    price: int
    """Of one that is bought without pods, in billionths."""


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """What to pack."""

    groups: tuple[GroupRow, ...]
    bins: tuple[BinRow, ...]
    limits: tuple[int, ...] = ()
    """What machines may still take, by limit index: their number, where each takes 1."""
    relaxed: "PackingProblem | None" = None
    """The same pods and machines with fewer rules, where this is one of several ways to keep them all: a bound
    that is told of has to hold for any way."""
    top_ups: tuple[TopUp, ...] = ()
    topology: Topology = Topology()
    """Rules between pods of different machines."""
    known: "Packing | None" = None
    """An answer that keeps all rules. A packer that cannot do better, or does not know of `topology`, returns it."""

    answers: int = 1
    """How many answers are wanted: more than one where it is only known afterwards whether one will do."""

    def most_taken(self) -> list[int]:
        """Return what the machine that takes most of each limit takes of it, at least 1, by limit index."""
        most = [1] * len(self.limits)
        for row in self.bins:
            if row.amounts:
                for limit, amount in row.taken:
                    most[limit] = max(most[limit], amount)
        return most

    def cost(self, nodes: Iterable["PackedNode"]) -> int:
        """Return the cost of the machines per hour, and of those that are bought beside them, in billionths."""
        bins = [node.bin for node in nodes]
        short = sum(one.price * max(0, one.number - sum(b in one.bins for b in bins)) for one in self.top_ups)
        return sum(self.bins[b].price for b in bins) + short


@dataclass(frozen=True, slots=True)
class PackedNode:
    """One machine and its pods."""

    bin: int
    counts: Mapping[int, int]
    """Pods by group index."""


@dataclass(frozen=True, slots=True)
class Packing:
    """An answer."""

    nodes: tuple[PackedNode, ...] = ()
    unplaced: Mapping[int, int] = field(default_factory=dict)
    """Pods without a place by group index, only where there are some."""
    proven: int = 0
    """What every packing of the same pods costs at least, in billionths, as far as the packer has proven it.

    Of the `relaxed` problem, where there is one.
    """
    others: "tuple[Packing, ...]" = ()
    """Further answers that cost as much, where `PackingProblem.answers` are wanted."""


class Packer(Protocol):
    """Anything that answers a packing problem."""

    def __call__(self, problem: PackingProblem) -> Packing:
        """Return a packing that respects every capacity, limit and exclusion.

        As many pods of the highest tier as it finds room for, then of the next, then the least
        cost. The same problem always gets the same answer.
        """
        ...
