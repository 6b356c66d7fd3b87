"""What priorities cost more than price alone, kept in the status of the pools that the round bought for."""

from collections.abc import Collection, Mapping
from decimal import Decimal

from api.v1alpha1.pool_parts.choice import ChoiceStatus
from planner.model.plan import Snapshot


def choice_costs(
    snapshot: Snapshot, bought: Collection[str], costs_per_hour: Decimal, currency: str
) -> Mapping[str, ChoiceStatus]:
    """Return what is told of each pool; pools of which there is nothing to say are left out.

    Args:
        snapshot: pools with what an earlier round told of them, which stays until a round buys for them.
        bought: names of the pools that this round buys for.
        costs_per_hour: by how much priorities make its machines dearer; 0 where they do not.
        currency: of that.
    """
    by_pool = {pool.metadata.name: pool.status.choice for pool in snapshot.pools}
    of_round = (
        ChoiceStatus(costs_per_hour=costs_per_hour, currency=currency, at=snapshot.now) if costs_per_hour else None
    )
    by_pool |= dict.fromkeys(bought, of_round)
    return {name: choice for name, choice in by_pool.items() if choice is not None}
