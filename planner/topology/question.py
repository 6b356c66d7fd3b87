"""What the split of a round is asked, and what it answers: classes and bins as domains see them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.objects import Pod, Taint
from planner.topology.census import Host
from planner.topology.tally import Tally

Cell = tuple[str | None, ...]
"""Values of all topology keys that matter in a round, but for the host name."""


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

    @property
    def host(self) -> Host:
        """The machine, as far as it makes domains."""
        return Host(self.labels, self.taints)


@dataclass(frozen=True, slots=True)
class Share:
    """Pods of a class that may go to the same bins."""

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


@dataclass(frozen=True, slots=True)
class Ration:
    """A resource that only stands for how many pods of some classes a machine may have."""

    asks: frozenset[int]
    most: Mapping[int, int]
    """By bin; others have no such limit."""


@dataclass(frozen=True, slots=True)
class Miss:
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
    misses: dict[int, Miss] = field(default_factory=dict)
    tally: Tally | None = None
    """The counts that it was made by; None where nothing was counted."""
    is_plain: bool = True
    """Whether no class has a constraint that pods of other machines matter for."""
