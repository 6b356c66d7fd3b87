"""Small fleets for tests of rules by which machines go."""

from itertools import count

from simulator.peers.fleet import FleetKind, FleetMachine, FleetOffering, FleetPod, PeerFleet

SMALL, LARGE = 0, 1
OFFERINGS = (FleetOffering("small", "a", 10.0, (2000, 4096, 110)), FleetOffering("large", "a", 18.0, (4000, 8192, 110)))
_UIDS = count(1)


def kind(cpu: int = 500, memory: int = 512, **rules) -> FleetKind:
    """Return pods of one kind, which fit on both offerings unless they are too large."""
    demand = (cpu, memory, 1)
    bins = frozenset(b for b, one in enumerate(OFFERINGS) if cpu <= one.capacity[0] and memory <= one.capacity[1])
    return FleetKind(demand, bins, **rules)


def fleet(*kinds: FleetKind, zones: tuple[str, ...] = ("a",), offerings=OFFERINGS) -> PeerFleet:
    """Return a fleet without machines."""
    return PeerFleet(offerings, kinds, zones)


def machine(
    of: PeerFleet, name: str, offering: int, pods: tuple[int, ...] = (), *, is_ready: bool = True
) -> FleetMachine:
    """Add a machine with pods of these kinds to a fleet."""
    made = FleetMachine(name, offering, 0, 0, list(of.offerings[offering].capacity), is_ready=is_ready)
    of.machines[name] = made
    for workload in pods:
        pod = FleetPod(next(_UIDS), workload, 0, machine=made)
        made.put(pod, of.kinds[workload].demand)
    return made
