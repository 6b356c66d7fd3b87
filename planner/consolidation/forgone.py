"""Forgone savings: what pools would save that do not consolidate, looked at now and then by rounds with nothing to do.

The look costs about as much as one of a pool that consolidates. So it is seldom, and in such rounds
alone; what it came to stands in a condition of the pool until the next one.
"""

from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_pool import NodePool
from planner.consolidation.looks import has_open_demand
from planner.consolidation.potential import potential
from planner.lifecycle.clocks.future_times import is_to_come
from planner.model.saving import Potential
from planner.placement.decide import Decided
from planner.placement.known_state import KnownState
from planner.policies.departures import Departures

LOOKS_EVERY: Final = timedelta(minutes=10)


def forgone(known: KnownState, decided: Decided, leaving: Departures) -> Potential | None:
    """Return what pools would save that do not consolidate, None in a round that does not look."""
    is_idle = not (decided.requests or leaving.requests or leaving.removals or leaving.cancelled or known.cut_off)
    with_machines = {machine.pool for machine in known.machines.values() if machine.node is not None}
    pools = [
        pool
        for pool in known.snapshot.pools
        if pool.metadata.name in with_machines and not pool.spec.scale_down.consolidates
    ]
    if not is_idle or not any(_is_due(pool, known.snapshot.now) for pool in pools):
        return None
    return None if has_open_demand(known, decided.assignment, decided.requests) else potential(known)


def _is_due(pool: NodePool, now: datetime) -> bool:
    if pool.metadata.deletion_timestamp is not None:
        return False
    looked_at = None if pool.status.consolidation is None else pool.status.consolidation.looked_at
    return looked_at is None or is_to_come(looked_at, now) or now >= looked_at + LOOKS_EVERY
