"""Cluster Autoscaler in a churn: its published rules with default flags, and the times of its loop."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from benchmarks.churn.karpenter import Shortages
from benchmarks.churn.world import ChurnWorld
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_units
from simulator.peers.cluster_autoscaler import Expander, cluster_autoscaler
from simulator.peers.cluster_autoscaler_removal import unneeded
from simulator.peers.fleet import FleetMachine, FleetPod
from simulator.peers.karpenter_fleet import Bounds, simulate
from simulator.peers.problem import PeerProblem

_SCAN: Final = 10
_UNNEEDED_FOR: Final = 600
_AFTER_ADD: Final = 600
"""Seconds after a purchase in which no machine is looked at for removal."""
_GIVES_UP_AFTER: Final = 600
"""`--max-pod-eviction-time` and the grace of pods: then the machine is kept."""
_MOST_EMPTY: Final = 10


@dataclass(slots=True)
class _Drained:
    machine: FleetMachine
    begun: int


class ClusterAutoscaler:
    """Its main loop: buys for pods that fit nowhere, and removes machines that were unneeded for ten minutes.

    Args:
        world: to act in.
        expander: by which it chooses what to buy.
        local_stays: whether pods with an emptyDir keep their machine, as by default.
    """

    def __init__(self, world: ChurnWorld, expander: Expander = "least-waste", *, local_stays: bool = True) -> None:
        self._world = world
        self._expander: Expander = expander
        self._local_stays = local_stays
        self._shortages = Shortages(world)
        self._since: dict[str, int] = {}
        self._drained: _Drained | None = None
        self._bought = -_AFTER_ADD
        self._next = 0
        self._changed = True
        self._version = 0

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        world = self._world
        self._changed = self._changed or world.version != self._version
        self._version = world.version
        if world.now < self._next:
            return self._next
        self._next = world.now + _SCAN
        if world.waiting:
            self._buy()
        self._go_on()
        if self._changed:
            names = {machine.name for machine in unneeded(world.fleet, world.may_evict, local_stays=self._local_stays)}
            self._since = {name: self._since.get(name, world.now) for name in names}
            self._changed = False
        if world.now >= self._bought + _AFTER_ADD:
            self._remove()
        self._changed = self._changed or world.version != self._version
        moments = [since + _UNNEEDED_FOR for since in self._since.values()]
        if self._since:
            moments.append(self._bought + _AFTER_ADD)
        later = [at for at in moments if at > world.now]
        if self._drained is not None or world.waiting or self._changed:
            return self._next
        return max(self._next, min(later)) if later else None

    def _buy(self) -> None:
        """Buy for pods that have no room on machines that are there or coming."""
        world = self._world
        result = simulate(world.fleet, world.waiting.values(), unavailable=range(len(world.fleet.offerings)))
        if not result.left:
            return
        problem = self._problem(result.left)
        for node in cluster_autoscaler(problem, expander=self._expander).packing.nodes:
            if self._shortages.buy([node.bin]) is not None:
                self._bought = world.now

    def _problem(self, pods: list[FleetPod]) -> PeerProblem:
        """Return the pods by kind, those of a spread one pinned to zones evenly, beside those that are there."""
        fleet, left_out = self._world.fleet, self._shortages.known()
        rows: dict[tuple[int, str], GroupRow] = {}
        counts: dict[int, dict[str, int]] = {}
        for pod in pods:
            kind, zone = fleet.kinds[pod.workload], ""
            if kind.zone_skew is not None:
                present = counts.setdefault(pod.workload, fleet.zone_counts(pod.workload))
                zone = min(present, key=lambda one: (present[one], one))
                present[zone] += 1
            bins = frozenset(b for b in kind.bins - left_out if zone in ("", fleet.offerings[b].zone))
            row = rows.get((pod.workload, zone)) or GroupRow(kind.demand, 0, bins, per_node=kind.host_skew)
            rows[pod.workload, zone] = replace(row, count=row.count + 1)
        bins = tuple(
            BinRow(offering.capacity, price_units(Decimal(str(offering.price)))) for offering in fleet.offerings
        )
        names = tuple(f"{offering.name} {offering.zone}" for offering in fleet.offerings)
        return PeerProblem(PackingProblem(tuple(rows.values()), bins), names, ("cpu", "memory", "pods"), "EUR")

    def _remove(self) -> None:
        world = self._world
        due = [
            world.fleet.machines[name]
            for name, since in self._since.items()
            if world.now >= since + _UNNEEDED_FOR and name in world.fleet.machines
        ]
        empty = [machine for machine in due if not machine.pods]
        for machine in empty[:_MOST_EMPTY]:
            del self._since[machine.name]
            world.remove(machine)
        occupied = [machine for machine in due if machine.pods]
        if occupied and not empty and self._drained is None:
            machine = occupied[0]
            names = frozenset([machine.name])
            pods = list(machine.pods.values())
            fits = simulate(world.fleet, pods, without=names, coming=False, bounds=Bounds(0))
            if not fits.is_over and all(map(world.may_evict, pods)):
                del self._since[machine.name]
                world.close(machine)
                self._drained = _Drained(machine, world.now)
                self._go_on()

    def _go_on(self) -> None:
        world, drained = self._world, self._drained
        if drained is None:
            return
        for pod in list(drained.machine.pods.values()):
            world.evict(pod)
        if not drained.machine.pods:
            world.remove(drained.machine)
            self._drained = None
        elif world.now >= drained.begun + _GIVES_UP_AFTER:
            world.open(drained.machine)
            self._drained = None
