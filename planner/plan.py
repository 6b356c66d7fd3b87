"""One round: everything that is known in, everything to do out. Pure; `snapshot.now` is the time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Final

from api.keys import ANNOTATION_MOVE_FAILED
from planner.consolidation.forgone import forgone
from planner.consolidation.policy import Consolidating
from planner.displacement.renewals import Renewing
from planner.model.plan import DryRun, Placed, Plan, PlanResult, Reason, RemovalCancel, Snapshot, Unplaced
from planner.model.pool_figures import PoolFigures
from planner.model.stages import Stages, unwatched
from planner.objects.kinds import Pod
from planner.packing.assign import placed_on, reservations
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packer
from planner.placement.decide import Decided, decide
from planner.placement.known_state import KnownState, prepare
from planner.policies.departures import departures
from planner.policies.emptiness import Emptiness
from planner.policies.next_round import wake_at
from planner.policies.pace.begun import last_shrink
from planner.policies.pace.schedule import bounds_in_force
from planner.policies.port import Policy
from planner.policies.remove_now import RemoveNow
from planner.policies.repair import DeadNodes
from planner.policies.safety.closed_lock import NO_LOCKS, ClosedLocks, closed_locks
from planner.policies.safety.dry_run import dry_pools, dry_run_reasons, opened, tried, written
from planner.policies.safety.failed_moves import failed_moves
from planner.policies.safety.frozen_pools import frozen_pools
from planner.policies.triggers.drift import Drift
from planner.policies.triggers.failing_nodes import FailingNodes
from planner.policies.triggers.group_utilisation import LittleUsedPools
from planner.policies.triggers.node_utilisation import LittleUsedMachines
from planner.policies.triggers.over_max import OverMax
from planner.policies.triggers.rotation import OldMachines
from planner.policies.unneeded_requests import UnneededRequests
from planner.policies.utilisation.pool_figures import figures_of
from planner.policies.utilisation.pool_use import PoolUses
from planner.report.choice_costs import choice_costs
from planner.report.events import events
from planner.report.pool_report import pool_reports
from planner.supply.machine_kind import PoolKinds
from planner.supply.machines import price_list
from planner.supply.replacement.lost_room import lost_room
from planner.supply.replacement.moving import taking_pods

POLICIES: Final[tuple[Policy, ...]] = (RemoveNow(), DeadNodes(), Emptiness(), UnneededRequests())
"""The policies by which machines go. Where minimums allow too few, an earlier policy has them."""
TRIGGERS: Final[tuple[Policy, ...]] = (FailingNodes(), OverMax(), Drift(), OldMachines())
"""After those, the ones by which machines go whose pods need another place first, or that are replaced."""

SHRINKERS: Final[tuple[Policy, ...]] = (LittleUsedPools(), LittleUsedMachines())
"""Then those by which machines go that are little used. Nothing is bought in their place."""


def plan(
    snapshot: Snapshot,
    packer: Packer = pack,
    stages: Stages = unwatched,
    policies: Sequence[Policy] = POLICIES,
    triggers: Sequence[Policy] = TRIGGERS,
) -> Plan:
    """Return the plan of this round: so specific that carrying it out needs no further decision.

    `stages` runs each stage of the work, and may take its time; `policies` and `triggers` propose machines that go.
    """
    with stages("read"):
        known = prepare(snapshot)
    return plan_known(known, packer, stages, policies, triggers)


def plan_known(
    known: KnownState,
    packer: Packer = pack,
    stages: Stages = unwatched,
    policies: Sequence[Policy] = POLICIES,
    triggers: Sequence[Policy] = TRIGGERS,
) -> Plan:
    """Return the plan of a round whose snapshot is laid out by now."""
    decided = decide(known, packer, stages)
    dry_runs: tuple[DryRun, ...] = ()
    as_if = opened(known.given)
    if as_if is not None:
        # Only in rounds with such a pool. Its packings share the time that the packer has for a round.
        dry_runs = tried(dry_pools(known.given), plan(as_if, packer, stages, policies, triggers))
    with stages("decide"):
        renewing = Renewing(known, decided, packer, triggers)
        shrinking = _shrinking(known, decided, packer)
        moving = (renewing, *shrinking, *_consolidating(known, decided, packer))
        return _plan_of(known, decided, (*policies, *moving), dry_runs)


def _shrinking(known: KnownState, decided: Decided, packer: Packer) -> Iterator[Policy]:
    """Yield the policies by which machines go that are little used, one after the other: a machine may go by any."""
    for policy in SHRINKERS:
        yield Renewing(known, decided, packer, (policy,), buys=False)


def _consolidating(known: KnownState, decided: Decided, packer: Packer) -> Iterator[Policy]:
    """Yield the last policy, which moves pods, where a pool wants it."""
    if any(pool.spec.scale_down.consolidate is not None for pool in known.snapshot.pools):
        yield Consolidating(known, decided, packer)


def _plan_of(
    known: KnownState, decided: Decided, policies: Sequence[Policy], dry_runs: tuple[DryRun, ...] = ()
) -> Plan:
    snapshot, seating, assignment, machines = known.snapshot, known.seating, decided.assignment, known.machines
    wanted = assignment.used | {name for name, seats in seating.seats.items() if seats} | taking_pods(machines)
    buying = {request.pool for request in decided.requests}
    prices = price_list(snapshot)
    allowed = {name: kinds_of_pool.allowed for name, kinds_of_pool in known.pool_kinds.items()}
    leaving = departures(
        snapshot,
        machines,
        wanted,
        policies,
        prices,
        allowed=allowed,
        buying=buying,
        held={*decided.headroom.machines, *decided.growth.held},
        locks=_locks(known, buying),
    )
    requests = (*decided.requests, *leaving.requests)
    savings = forgone(known, decided, leaving, prices)
    currency = _currency(known.pool_kinds)
    # As they are written: those of `snapshot` are in force by now.
    scheduled = {p.metadata.name: bounds_in_force(p, snapshot.now) for p in known.given.pools if p.spec.schedule}
    reports = pool_reports(
        snapshot,
        machines,
        known.supply,
        known.pool_kinds,
        known.limits,
        requests=requests,
        removals=leaving.removals,
        refused_placements=known.refused_placements.by_pool,
        dead_nodes=leaving.dead_nodes,
        due=leaving.due,
        consolidation=savings.statuses,
        forgone=savings.reasons,
        budgets=leaving.budgets,
        invalid_budgets=leaving.invalid_budgets,
        failed_moves=_failed_moves(known),
        short_headroom=decided.headroom.short,
        choices=choice_costs(snapshot, buying, decided.choice_costs_per_hour, currency),
        last_shrink=last_shrink(snapshot, leaving.removals),
        schedules={name: each.fault for name, each in scheduled.items() if each.fault is not None},
        bounds={name: str(each) for name, each in scheduled.items() if each.open_windows},
        frozen=frozen_pools(snapshot),
        dry_runs=dry_run_reasons(dry_runs),
    )
    dry = dry_pools(snapshot)
    open_pools = {p.metadata.name: p for p in snapshot.pools if p.metadata.deletion_timestamp is None}
    before = {name: m.request.spec.reserved_for for name, m in machines.items() if m.request is not None}
    reserving = [n for n, m in machines.items() if m.pool in open_pools and open_pools[m.pool].spec.scale_up.reserve]
    changed = reservations(before, seating.seats, assignment.joined, reserving)
    return Plan(
        result=_result(known.demand, decided.unplaced),
        requests=requests,
        placed=(*_seated(known), *assignment.placed),
        nominated=tuple(Placed(pod.key, node=pod.nominated_node) for pod in snapshot.pods if pod.nominated_node),
        unplaced=decided.unplaced,
        # Requests are cancelled before seats are written: there is no object any more to write these on.
        reservations=written(
            {name: seats for name, seats in changed.items() if name not in leaving.cancelled}, machines, dry
        ),
        removals=leaving.removals,
        removal_cancels=_cancels(known, decided),
        cancelled=leaving.cancelled,
        kept_machines=leaving.kept_machines,
        held=decided.headroom.machines,
        buffers=snapshot.buffers,
        short_buffers=decided.headroom.short_buffers,
        blocked=leaving.blocked,
        template_hashes=written(leaving.template_hashes, machines, dry),
        idle_since=written(leaving.idle_since, machines, dry),
        underused_since=written(leaving.underused_since, machines, dry),
        pods_since=written(leaving.pods_since, machines, dry),
        potential=savings.potential,
        pools=reports,
        figures=cache(lambda: _figures(known, decided)),
        dry_runs=dry_runs,
        events=(
            *known.refused_placements.events,
            *events(
                snapshot,
                decided.unplaced,
                decided.pools_of,
                decided.ceiling,
                reports,
                kept_machines=leaving.kept_machines,
                blocked=leaving.blocked,
            ),
        ),
        problems=snapshot.problems,
        memory=decided.after.memory,
        wake_at=_earliest(
            wake_at(snapshot, decided.after.memory),
            leaving.wake_at,
            known.refused_placements.wake_at,
            decided.wake_at,
            *(found.gates.wake_at for found in known.pool_kinds.values()),
        ),
        cost_per_hour=sum((request.price_per_hour for request in requests), Decimal(0)),
        lower_bound_per_hour=decided.cost.lower_bound,
        choice_costs_per_hour=decided.choice_costs_per_hour,
        optimal=decided.cost.is_optimal and not leaving.requests and not decided.growth.bought,
        currency=currency,
    )


def _figures(known: KnownState, decided: Decided) -> Mapping[str, PoolFigures]:
    """Return what was counted of each pool, by the sums that the decisions were made by."""
    uses = PoolUses(known.snapshot, known.machines.values())
    return {
        name: figures_of(found.pool, uses, decided.growth.uses, known.snapshot.now)
        for name, found in known.pool_kinds.items()
    }


def _locks(known: KnownState, buying: Collection[str]) -> ClosedLocks:
    """Return the locks that are closed, or that the round closes: most clusters have none."""
    if all(pool.spec.scale_up.lock is None for pool in known.snapshot.pools):
        return NO_LOCKS
    return closed_locks(known.pool_kinds, frozenset(buying))


def _cancels(known: KnownState, decided: Decided) -> tuple[RemovalCancel, ...]:
    """Return the removals to take back: pods want their machines, their steps are not whole, or room is gone."""
    of_room = (*decided.headroom.cancels, *decided.growth.cancels)
    cancels = (*decided.assignment.cancels, *of_room, *known.cut_off)
    if not known.seating.moving:
        return cancels
    return (*cancels, *lost_room(known.supply, known.machines, {cancel.removal for cancel in cancels}))


def _failed_moves(known: KnownState) -> dict[str, Reason]:
    """Return what there is to say of moves that failed, by pool: in most rounds none has."""
    if not any(ANNOTATION_MOVE_FAILED in node.annotations for node in known.snapshot.nodes):
        return {}
    failed = failed_moves(known.machines.values(), known.snapshot.now)
    return {pool: each.reason() for pool, each in failed.items()}


def _seated(known: KnownState) -> Iterable[Placed]:
    for pod in known.demand:
        name = known.seating.holders.get(pod.uid)
        if name is not None:
            yield placed_on(known.machines[name], pod, coming=True)


def _result(demand: Iterable[Pod], unplaced: Iterable[Unplaced]) -> PlanResult:
    if any(True for _ in unplaced):
        return PlanResult.INCOMPLETE_PLACEMENT
    return PlanResult.ALL_PLACED if any(True for _ in demand) else PlanResult.NO_DEMANDS


def _currency(pool_kinds: Mapping[str, PoolKinds]) -> str:
    return "+".join(sorted({kind.offering.currency for found in pool_kinds.values() for kind in found.kinds}))


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
