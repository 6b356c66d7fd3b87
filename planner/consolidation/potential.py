"""What consolidation would save in pools that do not consolidate: shown, and never acted on."""

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import Consolidation
from planner.consolidation.fleet import fleet_if
from planner.consolidation.policy import of_currency
from planner.consolidation.search import Search
from planner.displacement.displace import Displacer
from planner.model.plan import Snapshot
from planner.objects.local_volume import local_volumes
from planner.packing.fallback.pack import pack
from planner.placement.known_state import KnownState, prepare
from planner.policies.checks import first_refusal, safety_checks
from planner.policies.departures import candidates
from planner.policies.port import Candidate, MachineAction, PolicyView
from planner.policies.safety.blocked import BlockedBy
from planner.policies.safety.evictions import eviction_checks
from planner.supply.machines import price_list

_UNBOUNDED: Final = Consolidation(max_moved_pods=100_000)
"""The settings of a pool that says no more than that it consolidates, for all that one look comes to."""
_ALL: Final = 1


@dataclass(frozen=True, slots=True)
class Potential:
    """What could be saved at least."""

    saving_per_hour: Decimal = Decimal(0)
    currency: str = ""
    machines: int = 0
    """That would go."""
    moved: int = 0
    """Pods that would move."""
    pools: Counter[str] = field(default_factory=Counter)
    """Machines that would go by pool."""


def potential(snapshot: Snapshot) -> Potential:
    """Return what the pools that do not consolidate could save if they did, by one look at all of their machines.

    Machines that something keeps from being emptied stay, whatever the mode of their pool.
    """
    known = prepare(snapshot)
    view = _view(known)
    fleet = fleet_if(view, _UNBOUNDED)
    if not fleet.members:
        return Potential()
    displacer = Displacer(known, [member.machine.name for member in fleet.members], closed=fleet.idle)
    steps = Search(displacer, fleet, of_currency(known.pool_kinds, fleet.currency), pack, share=_ALL).best().steps
    return Potential(
        saving_per_hour=sum((step.saving_per_hour for step in steps), Decimal(0)),
        currency=fleet.currency,
        machines=sum(len(step.members) for step in steps),
        moved=sum(step.moved for step in steps),
        pools=Counter(member.machine.pool for step in steps for member in step.members),
    )


def _view(known: KnownState) -> PolicyView:
    snapshot, machines = known.snapshot, tuple(known.machines.values())
    wanted = {name for name, seats in known.seating.seats.items() if seats}
    local = local_volumes(snapshot.volumes, snapshot.nodes)
    checks = safety_checks(wanted, snapshot.protected_nodes, local, snapshot.now)
    of_evictions = eviction_checks(snapshot, known.machines)
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    refusals: dict[str, str] = {}
    for machine in machines:
        if machine.pool in pools:
            candidate = Candidate(machine, pools[machine.pool], MachineAction.REMOVE)
            blockers = (each.blocks(candidate) for each in of_evictions)
            keeper = first_refusal(candidate, checks) or next(
                (b for b in blockers if b and b.by is not BlockedBy.MODE), None
            )
            refusals |= {} if keeper is None else {machine.name: keeper.why}
    left = tuple(candidates(snapshot.pools, machines))
    return PolicyView(snapshot.now, left, refusals, price_list(snapshot), pools=snapshot.pools, machines=machines)
