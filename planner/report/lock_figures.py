"""The lock of a pool after a round, with the times between which it opens."""

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.purchase_pace import LockStatus
from planner.model.pool_figures import LockFigures


def lock_figures(pool: NodePool, lock: LockStatus) -> LockFigures | None:
    """Return the lock as the status after the round has it; None in a pool without one, or that has not bought yet."""
    wish = pool.spec.scale_up.lock
    if wish is None or lock.closed_at is None:
        return None
    return LockFigures(
        is_closed=lock.opened_at is None,
        closed_at=lock.closed_at,
        requested=lock.requested,
        earliest=lock.closed_at + wish.min,
        latest=lock.closed_at + wish.max,
        opened_at=lock.opened_at,
        opened_by=lock.opened_by,
    )
