"""The safety check by purchases: no machine of a pool is emptied while another one of it is on its way.

The pods that it is bought for may find their place on the one that would go, and its price is not known to be needed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.machines import Machine


@dataclass(frozen=True)
class PurchaseInFlight:
    """Keeps the machines of pools that get another one."""

    machines: Mapping[str, Machine]
    """All there are."""
    buying: Collection[str]
    """Names of pools for which this round buys."""
    now: datetime

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if another one of its pool is on its way."""
        pool = candidate.pool.metadata.name
        if pool not in self._pools:
            return None
        return Blocked(BlockedBy.PURCHASE, f"a machine of pool {pool} is on its way")

    @cached_property
    def _pools(self) -> frozenset[str]:
        coming = (machine.pool for machine in self.machines.values() if machine.is_in_flight(self.now))
        return frozenset((*self.buying, *coming))
