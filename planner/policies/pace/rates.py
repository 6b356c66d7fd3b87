"""Rates of a pool: how many machines begin to go at once, and when the next ones may.

Rounds come whenever something changes, so a rate holds for a time, `scaleDown.group.every`, and not for a round.
"""

from collections.abc import Collection
from datetime import datetime

from api.v1alpha1.node_pool import NodePool
from planner.policies.departures import gone_already
from planner.policies.port import PolicyView


def next_batch_at(pool: NodePool, view: PolicyView) -> datetime:
    """Return from when on machines may begin to go at the rate of the pool: now, or later."""
    group = pool.spec.scale_down.group
    if group is None:
        return view.now
    if pool.metadata.name in pools_shrinking(view):
        return view.now + group.every
    last = view.shrunk_at.get(pool.metadata.name)
    return view.now if last is None else max(view.now, last + group.every)


def pools_shrinking(view: PolicyView) -> Collection[str]:
    """Return the names of pools in which a machine begins to go by an earlier policy of the round."""
    gone = gone_already(view)
    return {machine.pool for machine in view.machines if machine.name in gone} if gone else ()
