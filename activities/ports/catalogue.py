"""The price list of a node class for people: each server type in each location, and its price.

A provider writes it (`activities.ports.provider_kind`), also of a class that cannot be used now: a person looks at the
prices before anything runs.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from planner.objects.offering import ResourceVector


class Standing(StrEnum):
    """Whether an offering can be bought."""

    AVAILABLE = "Available"
    DOUBTFUL = "Doubtful"
    """The provider says that it is sold out, which need not be so: one machine is tried first."""
    SOLD_OUT = "SoldOut"
    UNMET = "Unmet"
    """It had no capacity, and plans leave it out for a while. No provider writes it: Growth has met it."""
    WITHDRAWN = "Withdrawn"
    NO_PRICE = "NoPrice"
    """Nobody tells its price, so that it is not bought."""
    NO_IMAGE = "NoImage"
    """The class has no image for its architecture."""


@dataclass(frozen=True, slots=True)
class CatalogueRow:
    """A server type in a location."""

    server_type: str
    architecture: str
    millicores: int
    memory_bytes: int
    disk_bytes: int | None
    """None where the class does not tell."""
    is_dedicated: bool
    """Whether the cores are for this machine alone."""
    location: str
    price_per_hour: Decimal | None
    """With what else each machine of the class costs; None when a part of it is unknown."""
    price_per_month: Decimal | None
    """Most that a calendar month costs; None where it is unknown."""
    standing: Standing
    at: datetime | None = None
    """Until when it is left out, or when it is or was withdrawn."""
    allocatable: ResourceVector | None = None
    """Amounts for pods that plans count on, before DaemonSets."""
    learned: tuple[str, ...] = ()
    """Resources whose amount was learned from a Node of this offering."""
    pools: tuple[str, ...] = ()
    """Pools that may buy it. No provider writes it."""


@dataclass(frozen=True, slots=True)
class ClassCatalogue:
    """The price list of a class."""

    rows: tuple[CatalogueRow, ...]
    currency: str
    """Empty as long as it is not known."""
    has_ipv4: bool = False
    """Whether the prices are with that of a public IPv4 address."""
    read_at: datetime | None = None
    """When the prices were read; None where the class itself states them, or nobody has read them."""
    is_unread: bool = False
    """Whether prices are read from the account, and nobody has done that yet."""
    elsewhere: tuple[str, ...] = ()
    """Locations of the account where the class does not buy."""
