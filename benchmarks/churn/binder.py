"""kube-scheduler's default profile on a fleet in numbers: the rules of `benchmarks.default_scheduler`, but faster.

A test binds the same pods by both. Here nodes are never so many that the scheduler stops its search early.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from simulator.peers.fleet import FleetKind, FleetMachine, FleetPod, PeerFleet

_MOST: Final = 100


class Binder:
    """Binds waiting pods to machines that are Ready.

    Args:
        fleet: the machines.
        seed: decides between machines that score alike.
    """

    def __init__(self, fleet: PeerFleet, seed: int) -> None:
        self._fleet = fleet
        self._random = Random(seed)  # noqa: S311 - it is to be repeatable, not secret

    def machine_for(self, pod: FleetPod) -> FleetMachine | None:
        """Return the machine that the scheduler binds the pod to, None where it fits nowhere."""
        fleet, kind = self._fleet, self._fleet.kinds[pod.workload]
        hosts = [machine for machine in fleet.machines.values() if machine.is_ready and machine.offering in kind.bins]
        zones = None if kind.zone_skew is None else self._open_zones(pod.workload, kind, hosts)
        most = None if kind.host_skew is None else _most_on_host(pod.workload, kind, hosts)
        cpu, memory, slots = kind.demand
        best: list[FleetMachine] = []
        best_score = -1
        for machine in hosts:
            free = machine.free
            if free[0] < cpu or free[1] < memory or free[2] < slots or machine.is_closed:
                continue
            if machine.reserved is not None and pod.uid not in machine.reserved:
                continue
            if zones is not None and fleet.offerings[machine.offering].zone not in zones:
                continue
            if most is not None and machine.counts.get(pod.workload, 0) >= most:
                continue
            score = self._score(machine, cpu, memory)
            if score > best_score:
                best, best_score = [machine], score
            elif score == best_score:
                best.append(machine)
        return self._random.choice(best) if best else None

    def _score(self, machine: FleetMachine, cpu: int, memory: int) -> int:
        """Return the sum of NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation."""
        offering = self._fleet.offerings[machine.offering]
        has_cpu, has_memory = offering.capacity[0] + offering.overhead[0], offering.capacity[1] + offering.overhead[1]
        free_cpu, free_memory = machine.free[0], machine.free[1]
        least = ((free_cpu - cpu) * _MOST // has_cpu + (free_memory - memory) * _MOST // has_memory) // 2
        before = 1 - abs((has_cpu - free_cpu) / has_cpu - (has_memory - free_memory) / has_memory) / 2
        after = 1 - abs((has_cpu - free_cpu + cpu) / has_cpu - (has_memory - free_memory + memory) / has_memory) / 2
        return least + _MOST // 2 + (_MOST // 2 + int(after * _MOST) - int(before * _MOST)) // 2

    def _open_zones(self, workload: int, kind: FleetKind, hosts: Iterable[FleetMachine]) -> set[str]:
        """Return the zones that take one more; machines that are tainted make domains, too, as by default."""
        counts: dict[str, int] = {}
        for machine in hosts:
            zone = self._fleet.offerings[machine.offering].zone
            counts[zone] = counts.get(zone, 0) + machine.counts.get(workload, 0)
        fewest = min(counts.values(), default=0) if len(counts) >= len(self._fleet.zones) else 0
        return {zone for zone, pods in counts.items() if pods + 1 - fewest <= (kind.zone_skew or 0)}


def _most_on_host(workload: int, kind: FleetKind, hosts: Iterable[FleetMachine]) -> int:
    """Return how many pods of the kind a machine may have at most."""
    return min((machine.counts.get(workload, 0) for machine in hosts), default=0) + (kind.host_skew or 0)
