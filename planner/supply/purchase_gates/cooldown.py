"""The cool-down of a pool: for some time after a purchase by a round nothing more is bought."""

from datetime import datetime
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import Reason
from planner.supply.purchase_gates.purchases import Purchases

COOLDOWN: Final = "PurchaseCooldown"


def last_growth(pool: NodePool, purchases: Purchases) -> datetime | None:
    """Return when a round last asked for a machine, by requests or, where their records are gone, by the status."""
    moments = (pool.status.last_growth_at, purchases.newest_at)
    return max((at for at in moments if at is not None), default=None)


def cooldown(pool: NodePool, last_growth_at: datetime | None, now: datetime) -> tuple[Reason, datetime] | None:
    """Return why nothing is bought, and until when; None if that is over, or the pool has no cool-down."""
    wish = pool.spec.scale_up.cooldown
    if wish is None or last_growth_at is None or now >= last_growth_at + wish:
        return None
    until = last_growth_at + wish
    message = f"pool {pool.metadata.name} buys nothing more until {format_timestamp(until)}: scaleUp.cooldown"
    return Reason(COOLDOWN, message), until
