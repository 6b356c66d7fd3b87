"""The least that the demo's pods can cost, worked out from the objects alone, as `growth plan` would."""

from datetime import datetime
from decimal import Decimal

from activities.cluster import DAEMON_SETS, KWOK_NODE_CLASSES, NODE_POOLS
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.model import NodeClass, Snapshot
from planner.parse import parse_objects
from planner.plan import plan
from simulator.view import View
from simulator.world import World


async def lower_bound(world: World, view: View, now: datetime) -> Decimal:
    """Return a price per hour that no set of new machines for the waiting pods of `view` can be below."""
    parsed = parse_objects(pods=view.pods.values(), daemon_sets=(await world.cluster.list(DAEMON_SETS)).items)
    classes = (await world.cluster.list(KWOK_NODE_CLASSES)).items
    snapshot = Snapshot(
        now=now,
        pods=parsed.pods,
        daemon_sets=parsed.daemon_sets,
        pools=tuple(NodePool.model_validate(pool) for pool in (await world.cluster.list(NODE_POOLS)).items),
        classes=tuple(
            NodeClass(ClassRef(name=one["metadata"]["name"]), world.provider.offerings(one)) for one in classes
        ),
    )
    return plan(snapshot).lower_bound_per_hour
