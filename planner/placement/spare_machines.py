"""Spare machines: those that would go unless headroom needed them, with what they cost."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
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

    They have no pods, are not `used` by any that wait, and no check keeps them. Those in their cool-off are among them.
    As many as the minimum of their type keeps in any case cost nothing.
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
    spare = [candidate.machine for candidate in idle]
    spare += [machine for name, machine in machines.items() if machine.is_cooling_off and name not in wanted]
    prices, pools = price_list(snapshot), {pool.metadata.name: pool for pool in snapshot.pools}
    costs = dict.fromkeys((machine.name for machine in spare), Decimal(0))
    for machine in spare:
        if (pool := pools.get(machine.pool)) is not None:
            cost = machine_price(machine, machine.class_ref or pool.spec.template.class_ref, prices)
            costs[machine.name] = Decimal(0) if cost is None else cost[0]
    costs.update(dict.fromkeys(_kept_by_minimums(idle, machines.values()), Decimal(0)))
    return costs


def was_idle(machine: Machine) -> bool:
    """Return whether the machine was not needed a round before."""
    return machine.node is not None and read_idle_since(machine.node) is not None


def _kept_by_minimums(idle: Sequence[Candidate], machines: Iterable[Machine]) -> Iterator[str]:
    names = {candidate.machine.name for candidate in idle}
    number_kept = Counter((m.pool, m.server_type) for m in machines if m.stays and m.name not in names)
    for candidate in sorted(idle, key=lambda one: (was_idle(one.machine), one.machine.name)):
        kind = candidate.machine.pool, candidate.machine.server_type
        _, least = minimums(candidate.pool, candidate.machine.server_type)
        if number_kept[kind] < least:
            number_kept[kind] += 1
            yield candidate.machine.name
