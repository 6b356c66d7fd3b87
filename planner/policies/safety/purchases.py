"""The safety check by purchases: no machine of a pool is emptied while another one of it is on its way.

The pods that it is bought for may find their place on the one that would go, and its price is not known to be needed.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from planner.policies.port import Candidate
from planner.policies.safety.blocked import Blocked, BlockedBy
from planner.supply.machines import Machine


class PurchaseInFlight:
    """Keeps the machines of pools that get another one.

    Args:
        machines: all there are.
        buying: names of pools for which this round buys.
        now: of the round.
    """

    def __init__(self, machines: Iterable[Machine], buying: Collection[str], now: datetime) -> None:
        self._pools = {*buying, *(machine.pool for machine in machines if machine.is_in_flight(now))}

    def blocks(self, candidate: Candidate) -> Blocked | None:
        """Return what keeps the machine if another one of its pool is on its way."""
        pool = candidate.pool.metadata.name
        if pool not in self._pools:
            return None
        return Blocked(BlockedBy.PURCHASE, f"a machine of pool {pool} is on its way")
