"""The condition of all pools that rounds fail one after the other: a round that fails can write nothing itself.

The next round that succeeds takes it off: see `planner.report.pool_report`.
"""

from activities.ports.cluster import NODE_POOLS
from activities.ports.ports import Ports
from activities.round.pools import is_deleting, write_status
from api.meta import set_condition
from api.model import UnreadableError, read
from api.v1alpha1.node_pool import NodePoolStatus
from planner.report.pool_report import ROUNDS_FAILING


async def tell_pools(ports: Ports, message: str) -> None:
    """Write on each pool that rounds fail, and why; a pool that says so already is not written.

    Raises:
        GrowthError: the API server does not take it.
    """
    for pool in (await ports.cluster.list(NODE_POOLS)).items:
        try:
            status = read(NodePoolStatus, pool.get("status", {}))
        except UnreadableError:
            continue
        if is_deleting(pool):
            continue
        conditions = set_condition(
            status.conditions,
            ROUNDS_FAILING,
            status=True,
            reason="PlannerFailed",
            message=message,
            now=ports.now(),
            generation=pool["metadata"].get("generation"),
        )
        await write_status(ports.cluster, pool, status.model_copy(update={"conditions": conditions}))
