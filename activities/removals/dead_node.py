"""The look at the Node of a removal for whether it is dead: then its pods that should have ended count as gone with it.

A round judged a machine by its cache, a cool-off ago. Source: `planner.objects.dead_nodes`.
"""

from dataclasses import dataclass
from datetime import datetime

from activities.ports.cluster import NODES, Object
from activities.ports.errors import Unreachable
from activities.ports.ports import Ports
from api.meta import shown_time
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.json_predicates import is_ready, unready_since
from planner.objects.dead_nodes import are_most, judged_at


@dataclass(frozen=True, slots=True)
class DeadNodeLook:
    """What is seen of a Node that may be dead."""

    why_alive: str = ""
    """Why it is none, as a sentence; empty if it is dead, or will be at `judged_at`."""
    judged_at: datetime | None = None

    def is_dead(self, now: datetime) -> bool:
        """Return whether it is dead now."""
        return not self.why_alive and self.judged_at is not None and now >= self.judged_at


async def look_for_death(ports: Ports, pool: NodePool | None, node: Object) -> DeadNodeLook:
    """Return whether the Node is dead by the rules of its pool, read live; the other Nodes are read from the cache.

    Raises:
        Unreachable: the API server does not answer.
    """
    repair = None if pool is None else pool.spec.scale_down.repair
    name, since = node["metadata"]["name"], unready_since(node)
    if repair is None or (pool is not None and pool.spec.scale_down.mode == "none"):
        return DeadNodeLook(f"No pool says that the machine of Node {name} goes when it is dead")
    if since is None:
        state = "is Ready again" if is_ready(node) else "does not tell since when it is not Ready"
        return DeadNodeLook(f"Node {name} {state}")
    if node.get("spec", {}).get("unschedulable"):
        return DeadNodeLook(f"Node {name} is cordoned, and whoever did that decides about it")
    if ports.now() < since + repair.after:
        return DeadNodeLook(f"Node {name} has been Ready, or has changed, at {shown_time(since)}")
    unready, total = await _unready(ports)
    if are_most(unready, total):
        return DeadNodeLook(f"Most Nodes of the cluster are not Ready, {unready} of {total}")
    return DeadNodeLook(judged_at=judged_at(since, repair.after, watched_since=ports.watched_since()))


async def _unready(ports: Ports) -> tuple[int, int]:
    """Return how many Nodes are not Ready, of how many."""
    try:
        nodes = (await ports.reader.list(NODES)).items
    except Unreachable:
        nodes = (await ports.cluster.list(NODES)).items
    return sum(not is_ready(node) for node in nodes), len(nodes)
