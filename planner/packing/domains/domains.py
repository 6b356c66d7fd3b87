"""What the split of a round is asked, and what it answers: classes and bins as domains see them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from planner.objects.kinds import Pod, Taint
from planner.packing.domains.domain_counts import DomainCounts
from planner.packing.domains.pod_counts import Host

NO_LIMIT: Final = 1 << 40
"""More than any machine holds."""
Cell = tuple[str | None, ...]
"""Values of all topology keys that matter in a round, but for the host name."""


class GroupPart(NamedTuple):
    """Pods of a class that share what room there is."""

    ask: int
    cell: Cell | None = None
    """The cell that they are tied to."""
    is_beside: bool = False
    """They go along with pods of other classes."""


Ceilings = Mapping[GroupPart, int]
"""Most pods of a part, known from a packing that left some out."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A class of pods."""

    pod: Pod
    count: int
    demand: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """A bin: a machine that is there or coming, or machines that can be bought."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: tuple[int, ...]
    price: int
    copies: int
    """How many of them limits allow."""
    is_new: bool
    """Whether it stands for machines without a name yet."""
    daemons: tuple[Pod, ...] = ()
    """Templates of the DaemonSet pods that a new machine will have."""

    @property
    def host(self) -> Host:
        """The machine, as far as it makes domains."""
        return Host(self.labels, self.taints, self.daemons)


@dataclass(frozen=True, slots=True)
class Share:
    """Pods of a class that may go to the same bins, each item with its followers."""

    ask: int
    count: int
    """How many items."""
    bins: frozenset[int]
    cell: Cell | None = None
    """None: it is not tied to one."""
    size: int = 1
    """Pods of an item: more than one where they must share a machine."""
    is_first: bool = False
    """Others were decided with its pods counted, or it counts others: it lands before those that matter to nobody."""
    followers: tuple[tuple[int, int], ...] = ()
    """Pods of other classes that share the machine of each item, as class and number: they land after it."""

    @property
    def pods(self) -> tuple[tuple[int, int], ...]:
        """Classes and numbers of an item's pods, in the order of landing."""
        return ((self.ask, self.size), *self.followers)


@dataclass(frozen=True, slots=True)
class Ration:
    """A resource that only stands for how many pods of some classes a machine may have."""

    asks: frozenset[int]
    most: Mapping[int, int]
    """By bin; others have no such limit."""

    def takes(self, ask: int) -> int:
        """Return what one pod of this class takes of it."""
        return int(ask in self.asks)

    def has(self, b: int) -> int:
        """Return what an empty machine of this bin has of it."""
        return self.most.get(b, NO_LIMIT)


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """Pods of a class that no domain can take."""

    count: int
    code: str
    message: str


@dataclass(slots=True)
class Split:
    """The answer."""

    shares: list[Share] = field(default_factory=list)
    """In an order in which the scheduler can bind their pods."""
    per_node: list[int | None] = field(default_factory=list)
    """By class."""
    shuns_itself: list[bool] = field(default_factory=list)
    """Whether two pods of a class can never share a machine, by class."""
    apart: list[set[int]] = field(default_factory=list)
    """Classes that may not share a machine, by class; a class is not among its own."""
    apart_as_split: list[set[int]] = field(default_factory=list)
    """The same, and what this split keeps apart beyond that, as another might not."""
    rations: list[Ration] = field(default_factory=list)
    unplaceable: dict[int, Unplaceable] = field(default_factory=dict)
    domain_counts: DomainCounts | None = None
    """The counts that it was made by; None where nothing was counted."""
    followers: frozenset[int] = frozenset()
    """Classes that may go along with pods of other classes of this round."""
    is_plain: bool = True
    """Whether no class has a constraint that pods of other machines matter for."""


def taken(pods: Sequence[tuple[int, int]], wishes: Sequence[Wish], rations: Sequence[Ration]) -> tuple[int, ...]:
    """Return what such pods, as classes and numbers, take together: of the resources, then of the rations."""
    loads = [[d * number for d in (*wishes[i].demand, *(r.takes(i) for r in rations))] for i, number in pods]
    return tuple(sum(column) for column in zip(*loads, strict=True))
