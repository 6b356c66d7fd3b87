"""What consolidation would save in pools that do not consolidate: shown, and never acted on."""

from collections.abc import Collection, Iterable
from typing import Final

from api.v1alpha1.consolidation import Consolidation
from planner.consolidation.fleet import fleet_if
from planner.consolidation.policy import of_currency
from planner.consolidation.search import Search
from planner.consolidation.step import ConsolidationStep
from planner.displacement.displace import Displacer
from planner.model.saving import PoolPotential, Potential
from planner.objects.local_volume import local_volumes
from planner.packing.fallback.pack import pack
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.checks import first_refusal, safety_checks
from planner.policies.departures import candidates
from planner.policies.port import Candidate, MachineAction, PolicyView
from planner.policies.safety.blocked import BlockedBy
from planner.policies.safety.evictions import eviction_checks
from planner.supply.machines import price_list

_UNBOUNDED: Final = Consolidation(max_moved_pods=100_000)
"""The settings of a pool that says no more than that it consolidates, for all that one look comes to."""
_ALL: Final = 1
_LOOKS: Final = 16
"""Enough for what is said, which nobody acts on: it is asked for again and again."""


def potential(known: KnownState, decided: Decided | None = None) -> Potential:
    """Return what the pools that do not consolidate could save if they did, by one look at all of their machines.

    Machines that something keeps from being emptied stay, whatever the mode of their pool; and headroom that the round
    has `decided` on is kept.
    """
    view = _view(known, () if decided is None else decided.headroom.machines)
    fleet = fleet_if(view, _UNBOUNDED)
    if not fleet.members:
        return Potential()
    displacer = Displacer(known, [member.machine.name for member in fleet.members], decided, fleet.idle)
    steps = (
        Search(displacer, fleet, of_currency(known.pool_kinds, fleet.currency), pack, share=_ALL, looks=_LOOKS)
        .best()
        .steps
    )
    return Potential(fleet.currency, _by_pool(steps))


def _by_pool(steps: Iterable[ConsolidationStep]) -> dict[str, PoolPotential]:
    pools: dict[str, PoolPotential] = {}
    for step in steps:
        price = sum(member.price for member in step.members)
        for member in step.members:
            before = pools.get(member.machine.pool, PoolPotential())
            pools[member.machine.pool] = PoolPotential(
                before.saving_per_hour + step.saving_per_hour * member.price / price,
                before.machines + 1,
                before.moved + len(member.pods),
            )
    return pools


def _view(known: KnownState, held: Collection[str]) -> PolicyView:
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
    prices = price_list(snapshot)
    return PolicyView(snapshot.now, left, refusals, prices, pools=snapshot.pools, machines=machines, held=held)
