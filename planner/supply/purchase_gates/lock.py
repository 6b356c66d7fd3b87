"""The lock of a pool: after a purchase, nothing more is bought and no removal begins until what was bought is Ready.

Only a purchase by a round closes it. Its requests say so themselves, so that nothing is lost where a round ends between
making them and writing the status; the status says it for those whose records are gone. It opens after `min` once none
of its machines is coming any more, or at `max`. A request that has ended without a machine holds it no longer, as no
more comes of it: then `Ended` opened it, not `Ready`.
Source: Escalator, "Scale lock": "locked until the requested scale up is successful", and at the time-out by force.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest
from api.v1alpha1.pool_parts.purchase_pace import LockStatus
from planner.model.plan import Reason
from planner.supply.purchase_gates.purchases import Purchases, has_failed, is_coming

LOCK_CLOSED: Final = "PurchaseLockClosed"
READY: Final = "Ready"
ENDED: Final = "Ended"
TIMEOUT: Final = "Timeout"
_ROUND: Final = timedelta(seconds=1)
"""The round that opens a lock may buy in the same second."""


@dataclass(frozen=True, slots=True)
class LockState:
    """The lock now."""

    status: LockStatus
    obstacle: Reason | None = None
    """Why nothing is bought and no removal begins; None while it is open."""
    wake_at: datetime | None = None
    """When time alone may open it."""


def lock_state(pool: NodePool, purchases: Purchases, now: datetime) -> LockState | None:
    """Return the lock of the pool, None if it has none or nothing was ever bought."""
    wish, before = pool.spec.scale_up.lock, pool.status.lock
    stored = None if before is None else before.closed_at
    closed_at = max((at for at in (stored, purchases.newest_at) if at is not None), default=None)
    if wish is None or closed_at is None:
        return None
    if before is not None and before.opened_at is not None and before.closed_at == closed_at:
        return LockState(before)
    asked_for = _asked_for(purchases, before, closed_at - wish.max)
    coming, requested = sum(map(is_coming, asked_for)), len(asked_for)
    if before is not None and before.opened_at is None and before.requested:
        requested = max(coming, before.requested)
        asked_for = asked_for[:requested]
    status = LockStatus(closed_at=closed_at, requested=requested)
    earliest, latest = closed_at + wish.min, closed_at + wish.max
    if now >= latest and coming:
        return LockState(_opened(status, TIMEOUT, now))
    if now >= earliest and not coming:
        return LockState(_opened(status, ENDED if any(map(has_failed, asked_for)) else READY, now))
    name = pool.metadata.name
    waits = f"{coming} of {requested} machines are not Ready" if coming else "its machines are Ready"
    until = format_timestamp(latest if coming else earliest)
    message = (
        f"the lock of pool {name} is closed since its purchase at {format_timestamp(closed_at)}: {waits}, "
        f"and it opens at {until} at the latest"
    )
    return LockState(status, Reason(LOCK_CLOSED, message), earliest if now < earliest else latest)


def _asked_for(purchases: Purchases, before: LockStatus | None, since: datetime) -> list[NodeRequest]:
    """Return the requests since the lock closed, the newest first.

    One that was made before `since` has outlasted an earlier lock, and holds this one no longer than that.
    """
    if before is not None and before.opened_at is not None:
        since = max(since, before.opened_at - _ROUND)
    dated = [(at, r) for r in purchases.by_rounds if (at := r.metadata.creation_timestamp) is not None and at > since]
    return [request for _, request in sorted(dated, key=lambda one: one[0], reverse=True)]


def closed_by(requested: int, now: datetime) -> LockStatus:
    """Return the status of a lock that a purchase of so many machines closes now."""
    return LockStatus(closed_at=now.replace(microsecond=0), requested=requested)


def _opened(status: LockStatus, by: str, now: datetime) -> LockStatus:
    return status.model_copy(update={"opened_at": now.replace(microsecond=0), "opened_by": by})
