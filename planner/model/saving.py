"""Savings: a month's in words, and what pools could save that do not consolidate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

_HOURS_OF_MONTH: Final = 730
"""365 days of 24 hours, divided by twelve."""


@dataclass(frozen=True, slots=True)
class PoolPotential:
    """The part of one pool."""

    saving_per_hour: Decimal = Decimal(0)
    """Of a step over machines of several pools, each has the share that its machines have in their price."""
    machines: int = 0
    """That would go."""
    moved: int = 0
    """Pods that would move."""


@dataclass(frozen=True, slots=True)
class Potential:
    """What could be saved at least."""

    currency: str = ""
    pools: Mapping[str, PoolPotential] = field(default_factory=dict)
    """By name, of those with machines that would go."""

    @property
    def saving_per_hour(self) -> Decimal:
        """Of all pools."""
        return sum((pool.saving_per_hour for pool in self.pools.values()), Decimal(0))

    @property
    def machines(self) -> int:
        """Machines that would go."""
        return sum(pool.machines for pool in self.pools.values())

    @property
    def moved(self) -> int:
        """Pods that would move."""
        return sum(pool.moved for pool in self.pools.values())


def a_month(per_hour: Decimal, currency: str) -> str:
    """Return a saving as people read it."""
    return f"{per_hour * _HOURS_OF_MONTH:.2f} {currency} a month"
