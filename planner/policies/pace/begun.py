"""When a pool last asked for a machine, and when a removal in it last began by itself.

Both stand in the status of pools that wait after them. A worker may die between its writes, so requests and removals
that are there count, too. A time that is still to come, as a clock was ahead, counts for nothing.
"""

from collections.abc import Iterable
from datetime import datetime

from api.keys import LABEL_REQUEST
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.clocks.future_times import is_to_come
from planner.lifecycle.removal import REMOVE_NOW
from planner.model.plan import PlannedRemoval, Snapshot


def grown_at(pool: NodePool, requests: Iterable[NodeRequest], now: datetime) -> datetime | None:
    """Return when a machine of the pool was last asked for, None if nobody knows of one."""
    name = pool.metadata.name
    created = (request.metadata.creation_timestamp for request in requests if request.spec.pool == name)
    return _latest((pool.status.last_growth_at, *created), now)


def shrunk_at(pool: NodePool, removals: Iterable[NodeRemovalRequest], now: datetime) -> datetime | None:
    """Return when a removal in the pool last began by itself, None if nobody knows of one."""
    name = pool.metadata.name
    created = (
        removal.metadata.creation_timestamp for removal in removals if removal.spec.pool == name and _is_own(removal)
    )
    return _latest((pool.status.last_shrink_at, *created), now)


def last_shrink(snapshot: Snapshot, removals: Iterable[PlannedRemoval]) -> dict[str, datetime]:
    """Return when a removal last began by itself, those of the plan included, by pool that waits after that."""
    shrinking = {removal.pool for removal in removals if removal.reason != REMOVE_NOW}
    moments = {
        name: snapshot.now if name in shrinking else shrunk_at(pool, snapshot.removals, snapshot.now)
        for pool in snapshot.pools
        if waits_after_removals(pool) and (name := pool.metadata.name)
    }
    return {name: at for name, at in moments.items() if at is not None}


def waits_after_removals(pool: NodePool) -> bool:
    """Return whether removals of the pool wait after others."""
    return pool.spec.scale_down.group is not None or bool(pool.spec.scale_down.cooldown_after_scale_down)


def _is_own(removal: NodeRemovalRequest) -> bool:
    """Return whether a round has begun it for a reason of its own."""
    spec = removal.spec
    is_of_round = removal.metadata.labels.get(LABEL_REQUEST) == spec.server_name
    return is_of_round and not spec.immediate and spec.node_name is not None and spec.reason != REMOVE_NOW


def _latest(moments: Iterable[datetime | None], now: datetime) -> datetime | None:
    return max((at for at in moments if at is not None and not is_to_come(at, now)), default=None)
