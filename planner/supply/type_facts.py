"""What is known of a server type in a location, and whether that meets a requirement of a pool.

A fact that nobody tells meets none. Prices are those of today: they decide what is bought, and nothing about machines
that are there, as what these cost does not change with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from api.keys import LABEL_ARCH
from api.quantity import parse_price, parse_quantity
from api.v1alpha1.pool_server_type import ServerTypeRequirement
from planner.objects.offering import Offering

PRICE: Final = "price"
"""Key of the requirement that depends on more than the type: a location has its own price."""


@dataclass(frozen=True, slots=True)
class TypeInLocation:
    """A server type in a location, as requirements look at it; None where nobody tells."""

    server_type: str
    """In lower case."""
    location: str
    architecture: str | None = None
    cores: int | None = None
    memory: int | None = None
    """In bytes."""
    dedicated: bool | None = None
    price: Decimal | None = None
    """Per hour, in the currency of its class."""
    currency: str = ""
    millicores: int = 0
    """Of a machine: its cores, or what pods can have of them where the class does not tell."""
    capacity_bytes: int = 0
    """Of the memory of a machine, as of millicores."""

    @property
    def by_key(self) -> Mapping[str, object]:
        """The facts by the key of a requirement."""
        return {
            "architecture": self.architecture,
            "cores": self.cores,
            "memory": self.memory,
            "dedicated": self.dedicated,
            PRICE: self.price,
        }


def facts_of(offering: Offering) -> TypeInLocation:
    """Return the facts of an offering."""
    return TypeInLocation(
        server_type=offering.server_type.lower(),
        location=offering.location,
        architecture=offering.labels.get(LABEL_ARCH),
        cores=offering.cores,
        memory=offering.memory,
        dedicated=offering.dedicated,
        price=offering.price_per_hour,
        currency=offering.currency,
        millicores=offering.millicores or max(1000 * (offering.cores or 0), offering.allocatable.get("cpu", 0)),
        capacity_bytes=max(offering.memory or 0, offering.allocatable.get("memory", 0)),
    )


def meets(facts: TypeInLocation, requirement: ServerTypeRequirement) -> bool | None:
    """Return whether the type in its location meets the requirement; None if the fact is not known."""
    fact = facts.by_key[requirement.key]
    if fact is None:
        return None
    values = [_value(requirement.key, text) for text in requirement.values]
    match requirement.operator:
        case "In":
            return fact in values
        case "NotIn":
            return fact not in values
        case "Gt" | "Gte" | "Lt" | "Lte":
            return _compares(Fraction(str(fact)), requirement.operator, Fraction(str(values[0])))


def _value(key: str, text: str) -> object:
    match key:
        case "cores":
            return int(text)
        case "memory":
            return parse_quantity(text)
        case "dedicated":
            return text == "true"
        case "price":
            return parse_price(text)
        case _:
            return text


def _compares(fact: Fraction, operator: str, value: Fraction) -> bool:
    match operator:
        case "Gt":
            return fact > value
        case "Gte":
            return fact >= value
        case "Lt":
            return fact < value
        case _:
            return fact <= value
