"""Input and answer of the split of a round: which part of a group may go to which machine kinds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, NamedTuple

from planner.objects.kinds import Pod
from planner.packing.domains.domain_counts import DomainCounts
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.packing.problem import BinRow
from planner.supply.machine_kind import MachineKind
from planner.supply.places import Place
from planner.supply.pod_group import PodGroup

NO_LIMIT: Final = 1 << 40
"""More than any machine holds."""
Cell = tuple[str | None, ...]
"""Values of all topology keys that matter in a round, but for the host name."""


class GroupPart(NamedTuple):
    """Pods of a group that share the same room."""

    group: int
    cell: Cell | None = None
    """The cell that they are tied to."""
    is_beside: bool = False
    """They go along with pods of other groups."""


Ceilings = Mapping[GroupPart, int]
"""Most pods of a part, known from a packing that left some out."""


@dataclass(frozen=True, slots=True)
class PackingInput:
    """Pod groups and machine kinds of a round with their numbers, all by position."""

    groups: tuple[PodGroup, ...]
    demands: tuple[tuple[int, ...], ...]
    """What one pod takes, by group and resource."""
    holders: tuple[tuple[int, ...], ...]
    """Kinds that may hold a pod, as far as labels, taints, amounts and volumes go, by group, ascending.

    Groups that the same kinds may hold share one object: thousands of classes may have thousands of Nodes each.
    """
    holder_sets: tuple[frozenset[int], ...]
    """The same as sets."""
    kinds: tuple[MachineKind | Place, ...]
    """Each machine that is there or coming, and behind them what can be bought."""
    bins: tuple[BinRow, ...]
    """The same kinds in numbers."""
    copies: tuple[int, ...]
    """Machines that limits allow, by kind."""
    limits: tuple[int, ...] = ()
    """What each limit leaves for machines, by the indexes that `bins` name."""

    def is_new(self, b: int) -> bool:
        """Return whether kind `b` stands for machines without a name yet."""
        return not isinstance(self.kinds[b], Place)

    def host(self, b: int) -> Host:
        """Return a machine of kind `b`, as far as it makes domains."""
        return host_of(self.kinds[b])

    def may_be_two(self, kinds: Sequence[int]) -> bool:
        """Return whether limits allow two new machines of these kinds, alike or not."""
        new = [b for b in kinds if self.is_new(b) and self.copies[b]]
        return any(self.copies[b] > 1 for b in new) or any(
            self._may_be_beside(self.bins[a], self.bins[b]) for a, b in combinations(new, 2)
        )

    def _may_be_beside(self, row: BinRow, other: BinRow) -> bool:
        amounts = dict(other.taken)
        return all(self.limits[k] >= amount + amounts[k] for k, amount in row.taken if k in amounts)


def host_of(kind: MachineKind | Place) -> Host:
    """Return a machine of the kind, as far as it makes domains."""
    return Host(kind.labels, kind.taints, daemons_to_come(kind))


def daemons_to_come(kind: MachineKind | Place) -> tuple[Pod, ...]:
    """Return the templates of the DaemonSet pods that a new machine will have; those of other machines are counted."""
    return () if isinstance(kind, Place) else kind.daemons


@dataclass(frozen=True, slots=True)
class Share:
    """Pods of a group that may go to the same bins, each item with its followers."""

    group: int
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
    """Pods of other groups that share the machine of each item, as group and number: they land after it."""

    @property
    def pods(self) -> tuple[tuple[int, int], ...]:
        """Groups and numbers of an item's pods, in the order of landing."""
        return ((self.group, self.size), *self.followers)


@dataclass(frozen=True, slots=True)
class Ration:
    """A resource that only stands for how many pods of some groups a machine may have."""

    groups: frozenset[int]
    most: Mapping[int, int]
    """By bin; others have no such limit."""

    def takes(self, group: int) -> int:
        """Return the amount of it that one pod of this group takes."""
        return int(group in self.groups)

    def has(self, b: int) -> int:
        """Return the amount of it that an empty machine of this bin has."""
        return self.most.get(b, NO_LIMIT)


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """Pods of a group that no domain can take."""

    count: int
    code: str
    """Of the rule that closes the last domain."""
    others: tuple[str, ...] = ()
    """Pods of other groups of the round that its affinity looks for."""


@dataclass(slots=True)
class Split:
    """The answer."""

    shares: list[Share] = field(default_factory=list)
    """In an order in which the scheduler can bind their pods."""
    per_node: list[int | None] = field(default_factory=list)
    """By group."""
    shuns_itself: list[bool] = field(default_factory=list)
    """Whether two pods of a group can never share a machine, by group."""
    apart: list[set[int]] = field(default_factory=list)
    """Groups that may not share a machine, by group; a group is not among its own."""
    apart_as_split: list[set[int]] = field(default_factory=list)
    """The same, and the groups that this split keeps apart beyond that, as another might not."""
    rations: list[Ration] = field(default_factory=list)
    unplaceable: dict[int, Unplaceable] = field(default_factory=dict)
    domain_counts: DomainCounts | None = None
    """The counts that it was made by; None where nothing was counted."""
    followers: frozenset[int] = frozenset()
    """Groups that may go along with pods of other groups of this round."""
    most_together: dict[int, int] = field(default_factory=dict)
    """Pods that one domain, and so one machine, can have at most whatever the split, by group, and 1 where it can have
    none; only where it is known."""
    is_plain: bool = True
    """Whether no group has a constraint that pods of other machines matter for."""


def plain(given: PackingInput) -> Split:
    """Return the answer where nothing needs to be split."""
    return Split(
        shares=[Share(i, group.count, given.holder_sets[i]) for i, group in enumerate(given.groups)],
        per_node=[None] * len(given.groups),
        shuns_itself=[False] * len(given.groups),
        apart=[set() for _ in given.groups],
        apart_as_split=[set() for _ in given.groups],
    )


def concerns(groups: Iterable[PodGroup], pod_counts: PodCounts, daemons: Iterable[Pod] = ()) -> bool:
    """Return whether any constraint between pods, or on ports, matters for these groups.

    `daemons` are the templates of DaemonSet pods that new machines will have.
    """
    return (
        any(
            pod.spread or pod.pod_affinity or pod.pod_anti_affinity or pod.host_ports
            for pod in (group.example for group in groups)
        )
        or any(pod.pod_anti_affinity for pod in daemons)
        or bool(pod_counts.refusals)
    )


def taken(
    pods: Sequence[tuple[int, int]], demands: Sequence[tuple[int, ...]], rations: Sequence[Ration]
) -> tuple[int, ...]:
    """Return the amounts that pods, as groups and numbers, take together: of the resources, then of the rations."""
    loads = [[d * number for d in (*demands[i], *(r.takes(i) for r in rations))] for i, number in pods]
    return tuple(sum(column) for column in zip(*loads, strict=True))
