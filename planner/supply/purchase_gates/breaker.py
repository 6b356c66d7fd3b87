"""The breaker of a pool: after several purchases in a row that came to nothing, it buys nothing for a while.

In place of the pause by a single failed request (`failedTTL`), and beside the pauses of its class. Each machine that
was asked for is one purchase, whatever it failed for; one that is Ready ends the row. After `halfOpenAfter` one
machine is tried: it closes the breaker, or opens it again.
Source: Escalator issue 294, "growth circuit breaker": wanted 600, running some 100.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.purchase_pace import BreakerStatus
from planner.model.plan import Reason
from planner.supply.purchase_gates.purchases import Purchases, failed_at, has_failed

BREAKER_OPEN: Final = "BreakerOpen"


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The breaker now."""

    status: BreakerStatus
    obstacle: Reason | None = None
    """Why nothing is bought; None while it is closed or half-open."""
    is_half_open: bool = False
    """One machine may be on its way at a time."""
    wake_at: datetime | None = None


def breaker_state(pool: NodePool, purchases: Purchases, now: datetime) -> BreakerState | None:
    """Return the breaker of the pool, None if it has none."""
    wish = pool.spec.scale_up.breaker
    if wish is None:
        return None
    status = _counted(pool.status.breaker or BreakerStatus(), purchases)
    if status.failures < wish.failures or status.counted_until is None:
        return BreakerState(status)
    half_open_at = status.counted_until + wish.half_open_after
    status = status.model_copy(update={"half_open_at": half_open_at})
    if now >= half_open_at:
        return BreakerState(status, is_half_open=True)
    message = (
        f"pool {pool.metadata.name} buys nothing until {format_timestamp(half_open_at)}: "
        f"{status.failures} purchases in a row failed, then one machine is tried"
    )
    return BreakerState(status, Reason(BREAKER_OPEN, message), wake_at=half_open_at)


def _counted(before: BreakerStatus, purchases: Purchases) -> BreakerStatus:
    """Return the row of failures: what the status knows of records that are gone, and what requests say now."""
    ready_at = max((at for r in purchases.by_rounds if (at := r.status.ready_at) is not None), default=None)
    failures, until = before.failures, before.counted_until
    if ready_at is not None and until is not None and ready_at > until:
        failures, until = 0, None
    failed = [
        at
        for request in purchases.by_rounds
        if has_failed(request) and (at := failed_at(request)) is not None and (ready_at is None or at > ready_at)
    ]
    newer = sum(until is None or at > until for at in failed)
    # Of two that failed in one second a round may have seen only one: while their records last, both are counted.
    number = max(failures + newer, len(failed))
    return BreakerStatus(
        failures=number, counted_until=max([*failed, *([] if until is None else [until])], default=None)
    )
