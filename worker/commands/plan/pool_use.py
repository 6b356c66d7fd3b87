"""What a pool goes by that grows or shrinks by its use, and its lock, as data: nothing for other pools."""

from typing import Any

from api.meta import format_timestamp
from planner.model.pool_figures import LockFigures, PoolFigures, Use

Json = dict[str, Any]
_DECIMALS = 2


def lock_document(lock: LockFigures | None) -> Json | None:
    """Return the lock after the plan, None in a pool that has none or has not bought yet."""
    if lock is None:
        return None
    return {
        "closed": lock.is_closed,
        "closedAt": format_timestamp(lock.closed_at),
        "requested": lock.requested,
        "opensFrom": format_timestamp(lock.earliest),
        "opensBy": format_timestamp(lock.latest),
        "openedAt": None if lock.opened_at is None else format_timestamp(lock.opened_at),
        "openedBy": lock.opened_by,
    }


def use_document(figures: PoolFigures | None) -> Json:
    """Return the field `use`, if the pool has a bound on its use."""
    if figures is None or not figures.has_bounds:
        return {}
    use: Json = {}
    if figures.growth is not None:
        use["growth"] = {"thresholdPercent": figures.bounds.threshold} | _shares(figures.growth)
    if figures.bounds.upper is not None:
        bounds = {"lowerPercent": figures.bounds.lower, "upperPercent": figures.bounds.upper}
        use["shrinking"] = bounds | _shares(figures.use)
    return {"use": use}


def _shares(use: Use) -> Json:
    shares = use.shares
    return {
        name: {
            "requested": asked,
            "capacity": use.capacity[name],
            "percent": round(float(100 * shares[name]), _DECIMALS) if name in shares else None,
        }
        for name, asked in use.requests.items()
    }
