"""Forgone savings: what pools would save that do not consolidate, looked at now and then by rounds with nothing to do.

The look costs about as much as one of a pool that consolidates. So it is seldom, and in such rounds alone; what it came
to stands in a condition of the pool until the next one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from api.v1alpha1.consolidation import ConsolidationStatus
from api.v1alpha1.node_pool import NodePool
from planner.consolidation.looks import has_open_demand
from planner.consolidation.potential import potential
from planner.lifecycle.clocks.future_times import is_to_come
from planner.model.plan import Reason
from planner.model.saving import PoolPotential, Potential, a_month
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.departures import Departures
from planner.report.pool_report import SAVING_FORGONE
from planner.supply.machines import PriceList, machine_price

LOOKS_EVERY: Final = timedelta(minutes=10)
NEEDS: Final = "it needs scaleDown.mode: drain and scaleDown.consolidate"
_NOT_CONSOLIDATED: Final = "NotConsolidated"
_WORTH_SAYING_PERCENT: Final = 5
"""Of what the pool costs: as much as a step of consolidation must bring where its pool does not say."""
_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Forgone:
    """What there is to report of consolidation."""

    potential: Potential | None = None
    """What the look of this round came to, None without one."""
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    """What a pool forgoes, as the last look told, by pool; none where it is not worth saying."""
    statuses: Mapping[str, ConsolidationStatus] = field(default_factory=dict)
    """What consolidation came to, and in pools without it, when it was last looked what it would come to, by pool."""


def forgone(known: KnownState, decided: Decided, leaving: Departures, prices: PriceList) -> Forgone:
    """Return what the pools forgo that do not consolidate; in a round that does not look, what the last look told."""
    made = potential(known, decided) if _has_time(known, decided, leaving) else None
    pools = known.snapshot.pools
    reasons = (
        (pool.metadata.name, _last_told(pool) if made is None else _worth_saying(pool, known, made, prices))
        for pool in pools
    )
    statuses = ((pool.metadata.name, _status(pool, leaving, made, known.snapshot.now)) for pool in pools)
    return Forgone(
        potential=made,
        reasons={name: reason for name, reason in reasons if reason is not None},
        statuses={name: status for name, status in statuses if status is not None},
    )


def _has_time(known: KnownState, decided: Decided, leaving: Departures) -> bool:
    """Return whether a look is due and the round has nothing else to do."""
    is_busy = decided.requests or leaving.requests or leaving.removals or leaving.cancelled or known.cut_off
    with_machines = {machine.pool for machine in known.machines.values() if machine.node is not None}
    is_due = not is_busy and any(_is_due(pool, with_machines, known.snapshot.now) for pool in known.snapshot.pools)
    return is_due and not has_open_demand(known, decided.assignment, decided.requests)


def _is_due(pool: NodePool, with_machines: Collection[str], now: datetime) -> bool:
    if pool.consolidates or pool.metadata.name not in with_machines or pool.metadata.deletion_timestamp is not None:
        return False
    at = _looked_at(pool)
    return at is None or is_to_come(at, now) or now >= at + LOOKS_EVERY


def _looked_at(pool: NodePool) -> datetime | None:
    return None if pool.status.consolidation is None else pool.status.consolidation.looked_at


def _last_told(pool: NodePool) -> Reason | None:
    if pool.consolidates:
        return None
    of_pool = (each for each in pool.status.conditions if each.type == SAVING_FORGONE and each.status == "True")
    return next((Reason(each.reason, each.message) for each in of_pool), None)


def _worth_saying(pool: NodePool, known: KnownState, made: Potential, prices: PriceList) -> Reason | None:
    own = made.pools.get(pool.metadata.name)
    price = Decimal(0) if own is None else _price(pool, known, made.currency, prices)
    if own is None or own.saving_per_hour * _PERCENT < price * _WORTH_SAYING_PERCENT:
        return None
    return Reason(_NOT_CONSOLIDATED, _sentence(own, price, made.currency))


def _price(pool: NodePool, known: KnownState, currency: str, prices: PriceList) -> Decimal:
    """Return what the machines of the pool cost per hour that are paid in this currency."""
    own = (machine for machine in known.machines.values() if machine.pool == pool.metadata.name and machine.counts)
    costs = (machine_price(machine, pool.spec.template.class_ref, prices) for machine in own)
    return sum((cost[0] for cost in costs if cost is not None and cost[1] == currency), Decimal(0))


def _sentence(own: PoolPotential, price: Decimal, currency: str) -> str:
    saved = f"{a_month(own.saving_per_hour, currency)}, {own.saving_per_hour / price * _PERCENT:.0f} % of its price"
    machines = "1 machine" if own.machines == 1 else f"{own.machines} machines"
    pods = "1 pod" if own.moved == 1 else f"{own.moved} pods"
    return f"Consolidation would save {saved}: {machines} would go, {pods} would move; {NEEDS}"


def _status(pool: NodePool, leaving: Departures, made: Potential | None, now: datetime) -> ConsolidationStatus | None:
    is_set = pool.spec.scale_down.consolidate is not None
    status = leaving.consolidation.get(pool.metadata.name, pool.status.consolidation if is_set else None)
    at = None if pool.consolidates else _looked_at(pool) if made is None else now
    if at is None or (status is not None and status.looked_at == at):
        return status
    return (status or ConsolidationStatus()).model_copy(update={"looked_at": at})
