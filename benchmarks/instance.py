"""An instance of the benchmark: shapes of pods and how many of each, and the problem that they are."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.catalogue import ZONES, CatalogueMachine
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_units
from simulator.peers.problem import ClassSpread, PeerProblem

PORTS: Final = 4
"""Host ports that pods may need; each is a resource of which every machine has one."""
DEDICATED: Final = "ccx"
"""The family of machines with cores of their own."""
SCARCE: Final = ("cx22", "cx32", "cax11", "cax21", "cax31", "cax41")
"""Types of which there are few where an instance has limits."""
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods", *(f"port-{p}" for p in range(PORTS)))


@dataclass(frozen=True, slots=True)
class InstanceShape:
    """Pods that are alike."""

    count: int
    cpu: int
    """Millicores."""
    memory: int
    """MiB."""
    disk: int
    """MiB of ephemeral storage."""
    architecture: str = ""
    """The only one it runs on; empty: any."""
    is_dedicated: bool = False
    """Whether it runs only on machines with cores of their own."""
    per_node: int | None = None
    """How many may share a machine."""
    port: int | None = None
    """The host port it needs, as an index."""
    apart: frozenset[int] = frozenset()
    """Other shapes of which none may share a machine with it, as indexes; symmetric."""
    zone: str = ""
    """The only one it runs in; empty: any."""
    is_spread: bool = False
    """Whether it must be spread evenly over zones (maxSkew 1)."""
    host_skew: int | None = None
    """`maxSkew` of a hard spread over host names; None: there is none."""

    @property
    def demand(self) -> tuple[int, ...]:
        """What one pod takes, by resource."""
        return (self.cpu, self.memory, self.disk, 1, *(int(port == self.port) for port in range(PORTS)))

    def suits(self, machine: CatalogueMachine) -> bool:
        """Return whether it may run on such a machine, room aside."""
        return (
            self.architecture in ("", machine.architecture)
            and self.zone in ("", machine.zone)
            and (not self.is_dedicated or machine.family == DEDICATED)
        )

    def fits(self, machine: CatalogueMachine) -> bool:
        """Return whether one pod of it fits on such a machine when it is empty."""
        return self.suits(machine) and all(a <= b for a, b in zip(self.demand, capacity(machine), strict=True))


@dataclass(frozen=True, slots=True)
class Instance:
    """Pods and the machines that can be bought for them."""

    shapes: tuple[InstanceShape, ...]
    machines: tuple[CatalogueMachine, ...]
    limit: int | None = None
    """How many machines may be bought of each scarce type; None: as many as wanted."""


def capacity(machine: CatalogueMachine) -> tuple[int, ...]:
    """Return the capacity of a machine, by resource."""
    return (machine.cpu, machine.memory, machine.disk, machine.pods, *([1] * PORTS))


def problem_of_instance(instance: Instance) -> PeerProblem:
    """Return the numbers of an instance; groups are its shapes, in their order.

    A shape that is spread over zones becomes one group per zone with an equal share of the pods:
    exactly feasible, and the same for everyone who is given the problem.
    """
    return _problem(instance, list(_parts(instance.shapes)))


def spread_problem_of(instance: Instance) -> PeerProblem:
    """Return the numbers of an instance whose shapes are left whole: who is given the problem spreads them.

    A shape of which two may share a machine is spread over host names by two, as Kubernetes has no other word for it.
    """
    shapes = [
        replace(shape, per_node=None, host_skew=shape.host_skew or shape.per_node)
        if shape.per_node is not None and shape.per_node > 1
        else shape
        for shape in instance.shapes
    ]
    problem = _problem(instance, list(enumerate(shapes)))
    spreads = {
        i: ClassSpread(
            zone_skew=1 if shape.is_spread else None,
            host_skew=shape.host_skew,
            counted=frozenset(b for b, machine in enumerate(instance.machines) if shape.suits(machine)),
        )
        for i, shape in enumerate(shapes)
        if shape.is_spread or shape.host_skew is not None
    }
    return replace(problem, zones=tuple(machine.zone for machine in instance.machines), spreads=spreads)


def _problem(instance: Instance, parts: Sequence[tuple[int, InstanceShape]]) -> PeerProblem:
    places = {i: frozenset(k for k, (j, _) in enumerate(parts) if j == i) for i, _ in parts}
    groups = tuple(
        GroupRow(
            demand=shape.demand,
            count=shape.count,
            bins=frozenset(b for b, machine in enumerate(instance.machines) if shape.fits(machine)),
            per_node=shape.per_node,
            apart=frozenset(k for other in shape.apart for k in places[other]),
        )
        for _, shape in parts
    )
    scarce = [] if instance.limit is None else sorted({m.name for m in instance.machines if m.name in SCARCE})
    bins = tuple(
        BinRow(
            capacity(machine),
            price_units(machine.price_per_hour),
            (scarce.index(machine.name),) if machine.name in scarce else (),
        )
        for machine in instance.machines
    )
    names = tuple(f"{machine.name} {machine.zone}".rstrip() for machine in instance.machines)
    limits = (instance.limit or 0,) * len(scarce)
    return PeerProblem(PackingProblem(groups, bins, limits), names, RESOURCES, "EUR")


def _parts(shapes: Sequence[InstanceShape]) -> Iterator[tuple[int, InstanceShape]]:
    for i, shape in enumerate(shapes):
        if not shape.is_spread:
            yield i, shape
            continue
        share, more = divmod(shape.count, len(ZONES))
        for k, zone in enumerate(ZONES):
            yield i, replace(shape, count=share + (k < more), zone=zone)
