"""Spare machines: those that would go unless headroom needed them, with what they cost."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal

from planner.objects.local_volume import local_volumes
from planner.placement.known_state import KnownState
from planner.policies.checks import first_refusal, minimums, safety_checks
from planner.policies.departures import candidates
from planner.policies.emptiness import is_spare, read_idle_since
from planner.policies.expendable import Expendables
from planner.policies.port import Candidate, MachineAction
from planner.supply.machines import Machine, machine_price, price_list
from planner.supply.replacement.moving import taking_pods


def spare_machines(known: KnownState, used: Collection[str], expendables: Expendables) -> dict[str, Decimal]:
    """Return what each spare machine costs per hour, by name.

    They have no pods, are not `used` by any that wait, and nothing else keeps them: neither a check nor the minimum of
    their type. Those in their cool-off are among them.
    """
    snapshot, machines = known.snapshot, known.machines
    wanted = {*used, *(name for name, seats in known.seating.seats.items() if seats), *taking_pods(machines)}
    volumes = local_volumes(snapshot.volumes, snapshot.nodes)
    checks = safety_checks(wanted, snapshot.protected_nodes, volumes, snapshot.now)
    idle = [
        candidate
        for candidate in candidates(snapshot.pools, machines.values())
        if candidate.action is MachineAction.CANCEL or is_spare(candidate.machine, candidate.pool, expendables)
        if first_refusal(candidate, checks) is None
    ]
    spare = [candidate.machine for candidate in _above_minimum(idle, machines.values())]
    spare += [machine for name, machine in machines.items() if machine.is_cooling_off and name not in wanted]
    prices, pools = price_list(snapshot), {pool.metadata.name: pool for pool in snapshot.pools}
    costs: dict[str, Decimal] = {}
    for machine in spare:
        if (pool := pools.get(machine.pool)) is not None:
            cost = machine_price(machine, machine.class_ref or pool.spec.template.class_ref, prices)
            costs[machine.name] = Decimal(0) if cost is None else cost[0]
    return costs


def was_idle(machine: Machine) -> bool:
    """Return whether the machine was not needed a round before."""
    return machine.node is not None and read_idle_since(machine.node) is not None


def _above_minimum(idle: Sequence[Candidate], machines: Iterable[Machine]) -> list[Candidate]:
    names = {candidate.machine.name for candidate in idle}
    kept = Counter((m.pool, m.server_type) for m in machines if m.stays and m.name not in names)
    spare: list[Candidate] = []
    for candidate in sorted(idle, key=lambda one: (was_idle(one.machine), one.machine.name)):
        kind = candidate.machine.pool, candidate.machine.server_type
        _, least = minimums(candidate.pool, candidate.machine.server_type)
        if kept[kind] < least:
            kept[kind] += 1
        else:
            spare.append(candidate)
    return spare
