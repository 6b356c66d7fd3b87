"""The report of a round on each pool: counts, price, utilisation of its nodes, and conditions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from api.meta import Condition, set_condition
from api.quantity import rounded_amounts
from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePoolStatus, PoolCounts
from api.v1alpha1.pool_parts.choice import ChoiceStatus
from api.v1alpha1.refused_placement import RefusedPlacement
from planner.model.plan import BudgetState, DueMachines, PlannedRemoval, PlannedRequest, PoolReport, Reason, Snapshot
from planner.objects.kinds import Pod
from planner.report.lock_figures import lock_figures
from planner.report.price_limit import NEAR_PRICE_LIMIT, near_price_limit
from planner.report.unplaced import limit_reached
from planner.supply.limits import Limits, is_pace
from planner.supply.machine_kind import DRY_RUN, PoolKinds
from planner.supply.machines import Machine, machine_price, price_list
from planner.supply.places import Place, Rank
from planner.supply.purchase_gates.gates import PACE
from planner.supply.type_faults import UNKNOWN_TYPE, with_faults, with_refusals

ROUNDS_FAILING: Final = "RoundsFailing"
"""Condition that a worker writes while rounds fail; a report is of one that has not failed."""
MOST_UNREADY: Final = "MostNodesNotReady"
"""Reason of dead Nodes while it is the cluster that fails."""
DEAD_NODES: Final = "DeadNodes"
"""Condition that Nodes of the pool are dead; its reason says whether their machines go."""
MISFITS: Final = "DaemonSetsTooLarge"
"""Condition that no machine of the pool is large enough for the pods of a DaemonSet."""
POOL_PAUSED: Final = "Paused"
"""Condition that a person has paused the pool."""
BUDGETS_INVALID: Final = "BudgetsInvalid"
"""Condition that a budget of the pool names a time zone that does not exist: it holds at all times. Or that budgets
never let a machine go for what the pool asks for."""
FAILING_NODES: Final = "FailingNodes"
"""Condition that Nodes of the pool run and have had a bad condition for long enough."""
OVER_MAX: Final = "OverMax"
"""Condition that the pool has more machines than it may have."""
DRIFTED: Final = "Drifted"
"""Condition that machines of the pool are not what class and pool ask for now."""
TOO_OLD: Final = "TooOld"
"""Condition that machines of the pool have reached the age at which they are replaced."""
MOVES_FAIL: Final = "MovesFail"
"""Condition that pods of the pool could not be moved, several times in short order."""
SAVING_FORGONE: Final = "SavingForgone"
"""Condition that the pool does not consolidate and would save something by it."""
HEADROOM_SHORT: Final = "HeadroomShort"
"""Condition that headroom of the pool has no room, and that nothing is bought for it."""
SCHEDULE_INVALID: Final = "ScheduleInvalid"
"""Condition that a window of the pool names a time zone that does not exist, or that min in force is above max."""
FROZEN: Final = "Frozen"
"""Condition that the pool neither buys nor removes by itself, as too many of its newest Nodes are not Ready."""
_OVER: Final = {
    POOL_PAUSED: "NotPaused",
    DEAD_NODES: "NoDeadNodes",
    MISFITS: "NoDaemonSetsTooLarge",
    BUDGETS_INVALID: "BudgetsValid",
    FAILING_NODES: "NoFailingNodes",
    OVER_MAX: "NotOverMax",
    DRIFTED: "NotDrifted",
    TOO_OLD: "NotTooOld",
    MOVES_FAIL: "NoMovesFail",
    SAVING_FORGONE: "NoSavingForgone",
    HEADROOM_SHORT: "NoHeadroomShort",
    NEAR_PRICE_LIMIT: "BelowPriceLimit",
    SCHEDULE_INVALID: "ScheduleValid",
    FROZEN: "NotFrozen",
    DRY_RUN: "NoDryRun",
}
"""Reasons of these once they are over."""
_TOLD: Final = 3
"""DaemonSets named in one message; the rest is counted."""


def pool_reports(
    snapshot: Snapshot,
    machines: Mapping[str, Machine],
    places: Iterable[Place],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
    *,
    requests: Sequence[PlannedRequest],
    removals: Sequence[PlannedRemoval],
    refused_placements: Mapping[str, tuple[RefusedPlacement, ...]],
    dead_nodes: Mapping[str, Reason] | None = None,
    consolidation: Mapping[str, ConsolidationStatus] | None = None,
    budgets: Mapping[str, tuple[BudgetState, ...]] | None = None,
    invalid_budgets: Mapping[str, Reason] | None = None,
    failed_moves: Mapping[str, Reason] | None = None,
    due: Mapping[str, Sequence[DueMachines]] | None = None,
    forgone: Mapping[str, Reason] | None = None,
    short_headroom: Mapping[str, Reason] | None = None,
    choices: Mapping[str, ChoiceStatus] | None = None,
    last_shrink: Mapping[str, datetime] | None = None,
    schedules: Mapping[str, Reason] | None = None,
    frozen: Mapping[str, Reason] | None = None,
    dry_runs: Mapping[str, Reason] | None = None,
    bounds: Mapping[str, str] | None = None,
) -> tuple[PoolReport, ...]:
    """Return one report per pool; counts are as observed, the delta is the change by the plan.

    `dead_nodes`, `due`, `consolidation`, `forgone`, `short_headroom`, `invalid_budgets`, `failed_moves`, `schedules`,
    `frozen` and `dry_runs` say what there is to say of these, by pool, and `bounds` which a schedule has put in force;
    `budgets` how many machines may go for each reason; `choices` what priorities cost; `last_shrink` when a removal
    last began by itself, where pools wait after that.
    """
    open_nodes = {place.machine.name for place in places if place.rank is Rank.NODE}
    bought = Counter(request.pool for request in requests)
    removed = Counter(removal.pool for removal in removals)
    prices = price_list(snapshot)
    reports: list[PoolReport] = []
    for name, kinds_of_pool in pool_kinds.items():
        own = [machine for machine in machines.values() if machine.pool == name and machine.counts]
        ref = kinds_of_pool.pool.spec.template.class_ref
        costs = [cost for machine in own if (cost := machine_price(machine, ref, prices))]
        counts = PoolCounts(
            ready=sum(machine.name in open_nodes for machine in own),
            in_flight=sum(machine.is_in_flight(snapshot.now) for machine in own),
            removing=sum(machine.is_leaving for machine in own),
            total=len(own),
        )
        price = sum((cost for cost, _ in costs), Decimal(0))
        currency = min({currency for _, currency in costs} | _currencies(kinds_of_pool), default=None)
        triggered = {each.condition: each.report for each in (due or {}).get(name, ())}
        status = NodePoolStatus(
            observed_generation=kinds_of_pool.pool.metadata.generation,
            nodes=counts,
            price_per_hour=price,
            currency=currency,
            refused_placements=refused_placements.get(name, ()),
            consolidation=(consolidation or {}).get(name),
            choice=(choices or {}).get(name),
            last_shrink_at=(last_shrink or {}).get(name),
            **kinds_of_pool.gates.status_after(kinds_of_pool.pool, bought[name], snapshot.now),
            conditions=_with_occasional(
                _conditions(kinds_of_pool, limits, snapshot.now),
                {
                    POOL_PAUSED: _paused(kinds_of_pool, snapshot.now),
                    DEAD_NODES: (dead_nodes or {}).get(name),
                    MISFITS: _misfits(kinds_of_pool),
                    BUDGETS_INVALID: (invalid_budgets or {}).get(name),
                    MOVES_FAIL: (failed_moves or {}).get(name),
                    SAVING_FORGONE: (forgone or {}).get(name),
                    HEADROOM_SHORT: (short_headroom or {}).get(name),
                    SCHEDULE_INVALID: (schedules or {}).get(name),
                    FROZEN: (frozen or {}).get(name),
                    DRY_RUN: (dry_runs or {}).get(name),
                    NEAR_PRICE_LIMIT: near_price_limit(kinds_of_pool.pool, price, currency),
                    **{kind: triggered.get(kind) for kind in (FAILING_NODES, OVER_MAX, DRIFTED, TOO_OLD)},
                },
                snapshot.now,
                kinds_of_pool.pool.metadata.generation,
            ),
        )
        reports.append(
            PoolReport(
                name=name,
                status=status,
                delta=bought[name] - removed[name],
                utilisation=_utilisation([m for m in own if m.name in open_nodes]),
                budget=(budgets or {}).get(name, ()),
                due={each.trigger: each.number for each in (due or {}).get(name, ())},
                bounds=(bounds or {}).get(name, ""),
                lock=None if status.lock is None else lock_figures(kinds_of_pool.pool, status.lock),
            )
        )
    return tuple(reports)


def _currencies(kinds_of_pool: PoolKinds) -> set[str]:
    return {kind.offering.currency for kind in kinds_of_pool.kinds}


def _utilisation(machines: Sequence[Machine]) -> dict[str, float]:
    shares: dict[str, float] = {}
    cpu = memory = 0
    for machine in machines:
        for pod in machine.residents:
            if pod.node_name:
                cpu += pod.requests.get("cpu", 0)
                memory += pod.requests.get("memory", 0)
    for name, requested in (("cpu", cpu), ("memory", memory)):
        allocatable = sum(machine.node.allocatable.get(name, 0) for machine in machines if machine.node is not None)
        if allocatable:
            shares[name] = requested / allocatable
    return shares


def _conditions(kinds_of_pool: PoolKinds, limits: Limits, now: datetime) -> tuple[Condition, ...]:
    pool = kinds_of_pool.pool
    generation = pool.metadata.generation
    ready, reason, message = _readiness(kinds_of_pool)
    before = tuple(condition for condition in pool.status.conditions if condition.type != ROUNDS_FAILING)
    conditions = set_condition(
        before, "Ready", status=ready, reason=reason, message=message, now=now, generation=generation
    )
    full = bool(kinds_of_pool.kinds) and all(
        any(not is_pace(key) for key in limits.exhausted(kind)) for kind in kinds_of_pool.kinds
    )
    conditions = set_condition(
        conditions,
        "AtMax",
        status=full,
        reason="LimitReached" if full else "BelowMax",
        message=_fullness(kinds_of_pool, limits) if full else "",
        now=now,
        generation=generation,
    )
    blocker = kinds_of_pool.blocked_by
    return set_condition(
        conditions,
        "Blocked",
        status=blocker is not None,
        reason="NotBlocked" if blocker is None else blocker.status.reason or "Failed",
        message="" if kinds_of_pool.obstacle is None or blocker is None else kinds_of_pool.obstacle.message,
        now=now,
        generation=generation,
    )


def _fullness(kinds_of_pool: PoolKinds, limits: Limits) -> str:
    """Return that the pool is full, with the sentences of the limits in cores, memory and money that fill it."""
    reached: dict[str, None] = {}
    for kind in kinds_of_pool.kinds:
        keys = (key for key in limits.exhausted(kind) if limits.standing(key) is not None)
        reached.update(dict.fromkeys(limit_reached(kind, key, limits).message for key in keys))
    return ": ".join(["No further machine is allowed", *list(reached)[:1]])


def _with_occasional(
    conditions: tuple[Condition, ...], states: Mapping[str, Reason | None], now: datetime, generation: int | None
) -> tuple[Condition, ...]:
    """Return the conditions with those that a pool has only once there was something to say, by type."""
    for kind, state in states.items():
        if state is None and all(condition.type != kind for condition in conditions):
            continue
        conditions = set_condition(
            conditions,
            kind,
            status=state is not None,
            reason=_OVER[kind] if state is None else state.code,
            message="" if state is None else state.message,
            now=now,
            generation=generation,
        )
    return conditions


def _paused(kinds_of_pool: PoolKinds, now: datetime) -> Reason | None:
    pause = kinds_of_pool.pool.pause_at(now)
    return None if pause is None else Reason("PoolPaused", pause.sentence(kinds_of_pool.pool.metadata.name))


def _misfits(kinds_of_pool: PoolKinds) -> Reason | None:
    """Return which DaemonSets fit on no machine of the pool, and what they ask for; None if there is none."""
    misfits = sorted(kinds_of_pool.misfits, key=lambda pod: pod.key)
    if not misfits:
        return None
    rest = len(misfits) - _TOLD
    names = [f"{pod.key} ({_asked(pod)})" for pod in misfits[:_TOLD]] + ([f"{rest} more"] if rest > 0 else [])
    verb = "needs" if len(misfits) == 1 else "need"
    return Reason(
        "TooLarge",
        f"DaemonSet {', '.join(names)} {verb} more than any machine of the pool has: its pods stay pending on new ones",
    )


def _asked(pod: Pod) -> str:
    return rounded_amounts({name: amount for name, amount in pod.requests.items() if name != "pods"})


def _readiness(kinds_of_pool: PoolKinds) -> tuple[bool, str, str]:
    obstacle = kinds_of_pool.obstacle
    # That a pool is in dry run is told by what it would do, and one that waits after a purchase is in order.
    if obstacle is not None and kinds_of_pool.blocked_by is None and obstacle.code not in (*PACE, DRY_RUN):
        return False, obstacle.code, obstacle.message
    unknown, faults = ", ".join(kinds_of_pool.unknown_types), kinds_of_pool.faults
    if unknown:
        ref = kinds_of_pool.pool.spec.template.class_ref
        lacking = "does not have" if kinds_of_pool.kinds else "has none of these server types:"
        message = with_refusals(f"{ref} {lacking} {unknown}", kinds_of_pool.refusals)
        return bool(kinds_of_pool.kinds), UNKNOWN_TYPE, with_faults(message, faults)
    if faults:
        return bool(kinds_of_pool.kinds), faults[0].code, with_faults("", faults)
    return True, "Usable", ""
