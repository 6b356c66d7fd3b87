"""How near the machines of a pool are to `limits.pricePerHour`."""

from decimal import Decimal
from typing import Final

from api.meta import Condition
from api.quantity import format_price, parse_price, price_per_month
from api.v1alpha1.node_pool import NodePool, NodePoolStatus
from planner.model.plan import Reason

NEAR_PRICE_LIMIT: Final = "NearPriceLimit"
"""Condition that the machines of the pool cost 80 % of its limit per hour or more."""
_NEAR: Final = "PriceNearLimit"
_AT: Final = "PriceAtLimit"
_NEAR_PERCENT: Final = 80


def near_price_limit(pool: NodePool, price: Decimal, currency: str | None) -> Reason | None:
    """Return what there is to say of machines that cost so much per hour; None below 80 % and without a limit."""
    text = pool.spec.limits.price_per_hour
    if text is None or price * 100 < (limit := parse_price(text)) * _NEAR_PERCENT:
        return None
    share = f", {int(price * 100 / limit)} % of it"
    month = f"({format_price(price_per_month(price))} a month)"
    return Reason(
        _AT if price >= limit else _NEAR,
        f"limits.pricePerHour is {format_price(limit)}, and the machines cost {format_price(price)} {currency or ''}"
        f" per hour {month}{share}".replace("  ", " "),
    )


def passed_price_limit(before: NodePoolStatus, now: Condition) -> bool:
    """Return whether the pool has come nearer to its limit: to 80 %, or from there to all of it."""
    if now.type != NEAR_PRICE_LIMIT or now.status != "True":
        return False
    known = next((each for each in before.conditions if each.type == NEAR_PRICE_LIMIT), None)
    if known is None or known.status != "True":
        return True
    return now.reason == _AT and known.reason != _AT
