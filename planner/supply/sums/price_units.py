"""Prices as whole numbers: billionths of the currency, as prices have nine decimals at most."""

from decimal import Decimal
from typing import Final

_UNIT: Final = Decimal(10) ** 9


def price_units(price: Decimal) -> int:
    """Return the price in billionths."""
    return int(price * _UNIT)


def price_of(units: int) -> Decimal:
    """Return the price that so many billionths are."""
    return Decimal(units) / _UNIT
