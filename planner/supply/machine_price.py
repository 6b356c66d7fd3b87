"""What a machine costs: what was paid for it, where that is known, else what its class asks today.

A price rise holds for new machines only, so what is there must not be counted at the price of what would be
bought now. Source: Hetzner's price changes of 2026-04-01 and 2026-06-15, which left existing servers alone.
"""

from collections.abc import Mapping
from decimal import Decimal

from api.keys import ANNOTATION_CURRENCY, ANNOTATION_PRICE
from api.money import parse_price
from api.v1alpha1.node_pool import ClassRef
from planner.model.plan import Snapshot
from planner.supply.machines import Machine

Cost = tuple[Decimal, str]
"""Price per hour and currency."""
PriceList = Mapping[tuple[str, str, str], Cost]
"""Prices by class, server type and location."""


def price_list(snapshot: Snapshot) -> dict[tuple[str, str, str], Cost]:
    """Return the prices of all offerings."""
    return {
        (str(c.ref), o.server_type.lower(), o.location): (o.price_per_hour, o.currency)
        for c in snapshot.classes
        for o in c.offerings
    }


def price_paid(machine: Machine) -> Cost | None:
    """Return what the machine was bought for, as its Node or its request tells it, or None if neither does."""
    annotations = {} if machine.node is None else machine.node.annotations
    price, currency = annotations.get(ANNOTATION_PRICE), annotations.get(ANNOTATION_CURRENCY)
    if price and currency:
        try:
            return parse_price(price), currency
        except ValueError:
            # A person may have written anything there.
            pass
    status = None if machine.request is None else machine.request.status
    if status is None or status.price_per_hour is None or status.currency is None:
        return None
    return status.price_per_hour, status.currency


def price_today(machine: Machine, ref: ClassRef | None, prices: PriceList) -> Cost | None:
    """Return what one more such machine would cost; `ref` is the class of its pool, for one that names none itself."""
    return prices.get((str(machine.class_ref or ref), machine.server_type, machine.location))


def machine_price(machine: Machine, ref: ClassRef | None, prices: PriceList) -> Cost | None:
    """Return what the machine costs, or None if nobody tells; `ref` is the class of its pool."""
    return price_paid(machine) or price_today(machine, ref, prices)
