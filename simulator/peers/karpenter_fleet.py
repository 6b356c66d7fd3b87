"""Where Karpenter's scheduler would put pods in a fleet: onto machines that are there or coming, then onto new ones.

Its rule as published, not its program. New machines are filled as `simulator.peers.karpenter` fills them: prices are
looked at last.
Source: Karpenter v1.14, pkg/controllers/provisioning/scheduling: scheduler.go (add), nodeclaim.go,
topologygroup.go (nextDomainTopologySpread; the fewest pods on a host count as 0), existingnode.go
(isUnderConsolidateAfter).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from simulator.peers.fleet import FleetKind, FleetMachine, FleetPod, PeerFleet

_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(slots=True)
class NewClaim:
    """A machine in the making."""

    bins: list[int]
    """Offerings that can still hold its pods."""
    load: list[int]
    counts: dict[int, int]
    """Pods by kind."""

    def cheapest(self, fleet: PeerFleet) -> int:
        """Return the offering that is bought."""
        return min(self.bins, key=lambda b: (fleet.offerings[b].price, b))


@dataclass(slots=True)
class Simulated:
    """The result for some pods."""

    claims: list[NewClaim]
    left: list[FleetPod]
    """Pods with no place."""
    is_over: bool = False
    """Whether it was ended early, as its new machines are more, or dearer, than is of use."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a simulation is of no use any more."""

    most_claims: float = inf
    below_price: float = inf
    """New machines together must cost less."""


def simulate(
    fleet: PeerFleet,
    pods: Iterable[FleetPod],
    *,
    without: frozenset[str] = _NOBODY,
    shielded: Collection[str] = _NOBODY,
    coming: bool = True,
    unavailable: Collection[int] = frozenset(),
    bounds: Bounds = Bounds(),
) -> Simulated:
    """Return where the pods would go.

    Args:
        fleet: the machines, with those pods on them that stay.
        pods: to place.
        without: names of machines that are left out, with the pods on them.
        shielded: names of machines that pods of machines which could stay do not go to, as they are younger than
            consolidateAfter.
        coming: whether machines that are not Ready yet count.
        unavailable: offerings that are known to be sold out.
        bounds: of what is of use.
    """
    kinds = fleet.kinds
    order = sorted(pods, key=lambda p: (-kinds[p.workload].demand[0], -kinds[p.workload].demand[1], p.created, p.uid))
    machines = [
        machine
        for machine in fleet.machines.values()
        if machine.name not in without and not machine.is_closed and (machine.is_ready or coming)
    ]
    machines.sort(key=lambda machine: not machine.is_ready)
    state = _State(fleet, machines, without, unavailable)
    result = Simulated(state.claims, [])
    for pod in order:
        is_moved = pod.machine is not None and not pod.machine.is_closed
        if state.put_on_machine(pod.workload, shielded if is_moved else _NOBODY) or state.put_on_claim(pod.workload):
            continue
        if not state.open(pod.workload):
            result.left.append(pod)
            result.is_over = is_moved and bounds.most_claims != inf
        if len(state.claims) > bounds.most_claims:
            result.is_over = True
        if not result.is_over and bounds.below_price != inf and state.claims:
            cheapest = sum(fleet.offerings[claim.cheapest(fleet)].price for claim in state.claims)
            result.is_over = cheapest >= bounds.below_price
        if result.is_over:
            break
    return result


class _State:
    """The room that is left while pods are put."""

    def __init__(
        self,
        fleet: PeerFleet,
        machines: Sequence[FleetMachine],
        without: frozenset[str],
        unavailable: Collection[int],
    ) -> None:
        self.claims: list[NewClaim] = []
        self._fleet = fleet
        self._without = without
        self._unavailable = unavailable
        self._rooms = [(m, [*m.free], m.offering) for m in machines]
        self._added: dict[tuple[str, int], int] = {}
        self._zones: dict[int, dict[str, int]] = {}
        self._full: dict[tuple[int, bool], int] = {}
        """By kind, and whether machines are shielded, the first one that may have room: those before it get none."""

    def put_on_machine(self, workload: int, shielded: Collection[str]) -> bool:
        """Put a pod onto the first machine with room, and return whether there is one."""
        fleet, kind = self._fleet, self._fleet.kinds[workload]
        cpu, memory, slots = kind.demand
        bins = kind.bins
        zones = self._open_zones(workload, kind)
        skew = kind.host_skew
        looked_at = workload, bool(shielded)
        begin = 0 if zones is not None else self._full.get(looked_at, 0)
        rooms = self._rooms
        for k in range(begin, len(rooms)):
            machine, free, offering = rooms[k]
            if free[0] < cpu or free[1] < memory or free[2] < slots or offering not in bins:
                continue
            if machine.name in shielded:
                continue
            zone = fleet.offerings[offering].zone
            if zones is not None and zone not in zones:
                continue
            if skew is not None:
                key = machine.name, workload
                if machine.counts.get(workload, 0) + self._added.get(key, 0) >= skew:
                    continue
                self._added[key] = self._added.get(key, 0) + 1
            if zones is not None:
                self._zones[workload][zone] += 1
            free[0] -= cpu
            free[1] -= memory
            free[2] -= slots
            self._full[looked_at] = k
            return True
        self._full[looked_at] = len(rooms)
        return False

    def put_on_claim(self, workload: int) -> bool:
        """Put a pod onto the new machine with the fewest pods that takes it, and return whether there is one."""
        fleet, kind = self._fleet, self._fleet.kinds[workload]
        zones = self._open_zones(workload, kind)
        for claim in sorted(self.claims, key=lambda one: sum(one.counts.values())):
            if kind.host_skew is not None and claim.counts.get(workload, 0) >= kind.host_skew:
                continue
            load = [have + more for have, more in zip(claim.load, kind.demand, strict=True)]
            bins = [
                b
                for b in claim.bins
                if b in kind.bins
                and all(amount <= most for amount, most in zip(load, fleet.offerings[b].capacity, strict=True))
            ]
            if zones is not None:
                bins = self._in_fewest(workload, bins, zones)
            if bins:
                claim.bins, claim.load = bins, load
                claim.counts[workload] = claim.counts.get(workload, 0) + 1
                return True
        return False

    def open(self, workload: int) -> bool:
        """Open a claim for a pod, and return whether anything that can be bought holds it."""
        kind = self._fleet.kinds[workload]
        bins = sorted(kind.bins.difference(self._unavailable))
        zones = self._open_zones(workload, kind)
        if zones is not None:
            bins = self._in_fewest(workload, bins, zones)
        if not bins:
            return False
        self.claims.append(NewClaim(bins, list(kind.demand), {workload: 1}))
        return True

    def _in_fewest(self, workload: int, bins: Sequence[int], zones: Collection[str]) -> list[int]:
        """Return the bins in the zone, of those open, that has the fewest pods, and count one more there."""
        counts = self._zones[workload]
        of_zone = {zone: [b for b in bins if self._fleet.offerings[b].zone == zone] for zone in zones}
        best = min(
            (zone for zone, some in of_zone.items() if some), key=lambda zone: (counts[zone], zone), default=None
        )
        if best is None:
            return []
        counts[best] += 1
        return of_zone[best]

    def _open_zones(self, workload: int, kind: FleetKind) -> list[str] | None:
        if kind.zone_skew is None:
            return None
        counts = self._zones.get(workload)
        if counts is None:
            counts = self._zones[workload] = self._fleet.zone_counts(workload, self._without)
        fewest = min(counts.values())
        return [zone for zone, pods in counts.items() if pods + 1 - fewest <= kind.zone_skew]
