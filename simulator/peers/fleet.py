"""A fleet of machines with pods, in numbers: what rules by which peers remove machines look at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

HOUR: Final = 3600
"""Seconds."""
Amounts = tuple[int, int, int]
"""Millicores, MiB and pods."""


@dataclass(frozen=True, slots=True)
class FleetOffering:
    """A server type in a zone."""

    name: str
    zone: str
    price: float
    """Per hour."""
    capacity: Amounts
    """What DaemonSets leave for pods."""
    overhead: Amounts = (0, 0, 0)
    """What DaemonSets take."""


@dataclass(frozen=True, slots=True)
class FleetKind:
    """Pods that are alike."""

    demand: Amounts
    bins: frozenset[int]
    """Offerings that may hold one of them, as indexes."""
    zone_skew: int | None = None
    """`maxSkew` of a hard spread over zones, all of which are domains (`minDomains`)."""
    host_skew: int | None = None
    """`maxSkew` of a hard spread over host names."""
    is_local: bool = False
    """Whether they have data in an emptyDir."""
    stays: bool = False
    """Whether they ask not to be disrupted."""


@dataclass(slots=True, eq=False)
class FleetPod:
    """A pod."""

    uid: int
    workload: int
    """Index of its kind; all pods of a kind have one controller."""
    created: int
    machine: "FleetMachine | None" = None
    bound: int = 0
    """When it was bound, in seconds from the beginning, as all times here."""
    is_old: bool = False
    """Whether it is of an earlier revision and will be replaced."""
    lasts: int = 0
    """Seconds that it runs; 0 for ever."""


@dataclass(slots=True, eq=False)
class FleetMachine:
    """A machine, coming or there."""

    name: str
    offering: int
    bought: int
    ready: int
    """From when on it takes pods."""
    free: list[int]
    pods: dict[int, FleetPod] = field(default_factory=dict)
    """By uid."""
    counts: dict[int, int] = field(default_factory=dict)
    """Pods by kind."""
    is_ready: bool = False
    is_closed: bool = False
    """Whether it is tainted, as it goes."""
    reserved: set[int] | None = None
    """The pods that alone may come, by uid; None: all may."""
    touched: int = 0
    """When a pod last came or went."""

    def put(self, pod: FleetPod, demand: Amounts) -> None:
        """Count a pod as here."""
        self.pods[pod.uid] = pod
        self.counts[pod.workload] = self.counts.get(pod.workload, 0) + 1
        for r, amount in enumerate(demand):
            self.free[r] -= amount

    def take_off(self, pod: FleetPod, demand: Amounts) -> None:
        """Count a pod as gone."""
        del self.pods[pod.uid]
        self.counts[pod.workload] -= 1
        if not self.counts[pod.workload]:
            del self.counts[pod.workload]
        for r, amount in enumerate(demand):
            self.free[r] += amount


@dataclass(slots=True)
class PeerFleet:
    """What can be bought, what pods there can be, and the machines that are there or coming."""

    offerings: Sequence[FleetOffering]
    kinds: Sequence[FleetKind]
    zones: tuple[str, ...]
    machines: dict[str, FleetMachine] = field(default_factory=dict)
    """By name, the oldest first."""
    sold_out: frozenset[int] = frozenset()
    """Offerings that cannot be had now."""

    def price(self, machines: Iterable[FleetMachine]) -> float:
        """Return what machines cost per hour."""
        return sum(self.offerings[machine.offering].price for machine in machines)

    def zone_counts(self, kind: int, without: frozenset[str] = frozenset()) -> dict[str, int]:
        """Return the pods of a kind by zone, those on machines of these names left out."""
        counts = dict.fromkeys(self.zones, 0)
        for name, machine in self.machines.items():
            if kind in machine.counts and name not in without:
                counts[self.offerings[machine.offering].zone] += machine.counts[kind]
        return counts
