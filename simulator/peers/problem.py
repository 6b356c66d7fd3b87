"""A problem that Growth and the rules of its peers are given alike, and what one of them buys for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from planner.model.plan import Snapshot
from planner.objects.counted_pods import is_demand
from planner.packing.assemble import assemble
from planner.packing.domains.pod_counts import count_pods
from planner.packing.problem import Packing, PackingProblem
from planner.policies.admission import admit
from planner.scheduling.volume_places import resolve
from planner.supply.limits import limits_left
from planner.supply.machine_kind import kinds_of_pools
from planner.supply.machines import machines_of
from planner.supply.places import Place
from planner.supply.pod_group import GroupKeys, pod_groups
from planner.supply.seats import settle_seats
from planner.supply.sums.price_units import price_of


@dataclass(frozen=True, slots=True)
class ClassSpread:
    """How pods of a class must be spread, whatever is bought: hard topology spread constraints over its own pods."""

    zone_skew: int | None = None
    """`maxSkew` over zones, with all zones as `minDomains`; None: no such constraint."""
    host_skew: int | None = None
    """`maxSkew` over host names; None: no such constraint."""
    counted: frozenset[int] = frozenset()
    """Offerings that its nodeSelector leaves, too small ones among them: their machines count as domains."""


@dataclass(frozen=True, slots=True)
class PeerProblem:
    """Pods that wait and machines that can be bought for them; no machine is there yet."""

    packing: PackingProblem
    """Its groups are classes of pods, its bins offerings, each with a price per hour; nothing is free."""
    offerings: tuple[str, ...]
    """Name of each bin: server type and location."""
    resources: tuple[str, ...]
    """Name of each resource, in the order of demands and capacities."""
    currency: str = ""
    zones: tuple[str, ...] = ()
    """Zone of each bin, where classes are spread."""
    spreads: Mapping[int, ClassSpread] = field(default_factory=dict)
    """By class, those that must be spread."""

    @property
    def pods(self) -> int:
        """How many pods wait."""
        return sum(group.count for group in self.packing.groups)

    def demand(self, group: int, resource: str) -> int:
        """Return the request of one pod of a group for a resource, 0 of one that no pod asks for."""
        return self._amount(self.packing.groups[group].demand, resource)

    def capacity(self, offering: int, resource: str) -> int:
        """Return the capacity of a machine in a resource, 0 of one that no pod asks for."""
        return self._amount(self.packing.bins[offering].capacity, resource)

    def _amount(self, amounts: tuple[int, ...], resource: str) -> int:
        return amounts[self.resources.index(resource)] if resource in self.resources else 0


@dataclass(frozen=True, slots=True)
class Purchase:
    """What is bought for a problem."""

    problem: PeerProblem
    packing: Packing
    """Every machine with what is on it, and the pods without a place."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Machines by name of their offering, in the order of the problem's offerings."""
        machines = Counter(node.bin for node in self.packing.nodes)
        return {self.problem.offerings[b]: machines[b] for b in sorted(machines)}

    @property
    def machines(self) -> int:
        """How many machines are bought."""
        return len(self.packing.nodes)

    @property
    def cost(self) -> int:
        """What all of them cost per hour, in billionths of the problem's currency."""
        return self.problem.packing.cost(self.packing.nodes)

    @property
    def cost_per_hour(self) -> Decimal:
        """What all of them cost, in the problem's currency."""
        return price_of(self.cost)

    @property
    def placed(self) -> int:
        """How many pods have a place."""
        return self.problem.pods - self.unplaced

    @property
    def unplaced(self) -> int:
        """How many pods have none."""
        return sum(self.packing.unplaced.values())


def problem_of(snapshot: Snapshot) -> PeerProblem:
    """Return the problem of a round's snapshot as if no machine that is there had room.

    Pods, pools, DaemonSets, offerings and bounds are judged by the planner's own functions: pods
    count that are demand and have no seat on a coming machine; pods that the planner does not judge
    or that no pool takes are left out, as it buys nothing for them; bounds are what is left of them.
    Free room on nodes, and machines that a minimum asks for, are not part of the problem.
    """
    snapshot = replace(snapshot, pods=resolve(snapshot.pods, snapshot.volumes))
    machines, pool_kinds, keys = machines_of(snapshot), kinds_of_pools(snapshot), GroupKeys()
    limits = limits_left(machines.values(), pool_kinds)
    seated = settle_seats(machines.values(), snapshot.pods, keys, snapshot.now).holders
    waiting = [pod for pod in snapshot.pods if is_demand(pod) and pod.uid not in seated]
    groups, _ = admit(pod_groups(waiting, keys, snapshot.pods), snapshot.pools, {}, pool_kinds, limits)
    counts = count_pods(machines.values(), (), {}, snapshot.namespaces)
    assembly = assemble(groups, (), pool_kinds, limits, (), pod_counts=counts)
    offerings = [kind.offering for kind in assembly.given.kinds if not isinstance(kind, Place)]
    return PeerProblem(
        packing=assembly.problem,
        offerings=tuple(f"{offering.server_type} {offering.location}" for offering in offerings),
        resources=assembly.resources,
        currency="+".join(sorted({offering.currency for offering in offerings})),
    )
