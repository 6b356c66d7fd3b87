"""Which machines of a fleet Cluster Autoscaler finds unneeded. Its rule as published, not its program.

Source: Cluster Autoscaler 1.36, core/scaledown: eligibility.go (utilisation below the threshold), planner.go (pods of
unneeded machines take room on the others while it goes on), simulator/cluster.go, simulator/drainability/rules.
"""

from collections.abc import Callable
from typing import Final

from simulator.peers.fleet import FleetMachine, FleetPod, PeerFleet

THRESHOLD: Final = 0.5
"""Of cpu and memory, the higher share; DaemonSets' pods count."""


def unneeded(fleet: PeerFleet, may_go: Callable[[FleetPod], bool], *, local_stays: bool = True) -> list[FleetMachine]:
    """Return the machines whose pods all have room on others at once, those without pods first.

    Args:
        fleet: the machines.
        may_go: whether the budget of a pod lets it be evicted now.
        local_stays: whether pods with an emptyDir keep their machine (`--skip-nodes-with-local-storage`).
    """
    machines = [machine for machine in fleet.machines.values() if machine.is_ready and not machine.is_closed]
    removable = [machine for machine in machines if not machine.pods]
    rooms = {machine.name: [*machine.free] for machine in machines if machine.pods}
    added: dict[tuple[str, int], int] = {}
    for machine in machines:
        if not machine.pods or _utilisation(fleet, machine) >= THRESHOLD or machine.name not in rooms:
            continue
        pods = list(machine.pods.values())
        kinds = [fleet.kinds[pod.workload] for pod in pods]
        if any(kind.stays or (local_stays and kind.is_local) for kind in kinds) or not all(map(may_go, pods)):
            continue
        own = rooms.pop(machine.name)
        trial = {name: [*free] for name, free in rooms.items()}
        tried = dict(added)
        if all(_put(fleet, pod, machine, trial, tried) for pod in pods):
            rooms, added = trial, tried
            removable.append(machine)
        else:
            rooms[machine.name] = own
    return removable


def _utilisation(fleet: PeerFleet, machine: FleetMachine) -> float:
    offering = fleet.offerings[machine.offering]
    whole = [most + more for most, more in zip(offering.capacity, offering.overhead, strict=True)]
    return max((whole[r] - machine.free[r]) / whole[r] for r in range(2))


def _put(
    fleet: PeerFleet,
    pod: FleetPod,
    origin: FleetMachine,
    rooms: dict[str, list[int]],
    added: dict[tuple[str, int], int],
) -> bool:
    """Put a pod onto the first machine with room, and return whether there is one."""
    kind = fleet.kinds[pod.workload]
    zones = None
    if kind.zone_skew is not None:
        counts = fleet.zone_counts(pod.workload)
        counts[fleet.offerings[origin.offering].zone] -= 1
        fewest = min(counts.values())
        zones = {zone for zone, number in counts.items() if number + 1 - fewest <= kind.zone_skew}
    for name, free in rooms.items():
        machine = fleet.machines[name]
        if machine.offering not in kind.bins or any(a > have for a, have in zip(kind.demand, free, strict=True)):
            continue
        if zones is not None and fleet.offerings[machine.offering].zone not in zones:
            continue
        key = name, pod.workload
        present = machine.counts.get(pod.workload, 0) + added.get(key, 0)
        if kind.host_skew is not None and present >= kind.host_skew:
            continue
        added[key] = added.get(key, 0) + 1
        for r, amount in enumerate(kind.demand):
            free[r] -= amount
        return True
    return False
