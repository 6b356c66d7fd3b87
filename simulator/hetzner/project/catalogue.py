"""Server types, locations and prices: what is published of them, and what can be had."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final

from simulator.hetzner.project.price_list import (
    IPV4_HOUR,
    IPV4_MONTH,
    MACHINES,
    PLACES,
    ListedLocation,
    ListedServerType,
    price,
)
from simulator.hetzner.reply import ApiRefusal, invalid

_VAT: Final = Decimal("0.19")
_NOTICE: Final = timedelta(days=90)
"""Between the announcement of an end and the end."""


@dataclass(slots=True)
class _Offer:
    """A server type in a location."""

    price: tuple[Decimal, Decimal] | None
    is_sold_out: bool = False
    is_published: bool = True
    unavailable_after: datetime | None = None


@dataclass(slots=True)
class _Type:
    id: int
    machine: ListedServerType
    offers: dict[str, _Offer] = field(default_factory=dict)


class FakeCatalogue:
    """The catalogue, the same for all projects."""

    def __init__(self) -> None:
        self._places = {place.name: (number, place) for number, place in enumerate(PLACES, start=1)}
        self._types = {
            machine.name: _Type(
                id=number,
                machine=machine,
                offers={location: _Offer(price(machine, location)) for location in machine.places},
            )
            for number, machine in enumerate(MACHINES, start=101)
        }
        self.ipv4: dict[str, tuple[Decimal, Decimal]] = {place.name: (IPV4_HOUR, IPV4_MONTH) for place in PLACES}
        """Net price of a public IPv4 address by location, per hour and per month."""
        self._closed: set[str] = set()

    def machine(self, server_type: str) -> ListedServerType:
        """Return the server type.

        Raises:
            KeyError: there is none.
        """
        return self._types[server_type].machine

    def place(self, location: str) -> ListedLocation:
        """Return the location.

        Raises:
            KeyError: there is none.
        """
        return self._places[location][1]

    def machines(self) -> dict[str, ListedServerType]:
        """Return all server types by name."""
        return {name: kind.machine for name, kind in self._types.items()}

    def type_named(self, wanted: Any) -> ListedServerType:
        """Return the server type of this name or id.

        Raises:
            Refusal: there is none.
        """
        for each in self._types.values():
            if wanted in (each.machine.name, each.id, str(each.id)):
                return each.machine
        raise ApiRefusal(
            HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_server_type", f"server type {wanted!r} does not exist"
        )

    def place_named(self, wanted: Any) -> ListedLocation:
        """Return the location of this name or id.

        Raises:
            Refusal: there is none.
        """
        for number, place in self._places.values():
            if wanted in (place.name, number, str(number)):
                return place
        raise invalid("location", f"location {wanted!r} does not exist")

    def check(self, server_type: str, location: str, now: datetime) -> None:
        """Do nothing if a server of the type can be had in the location.

        Raises:
            Refusal: it is not offered there, no longer, or sold out.
        """
        offer = self._types[server_type].offers.get(location)
        if offer is None:
            raise ApiRefusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", "unsupported location for server type")
        if offer.unavailable_after is not None and offer.unavailable_after <= now:
            message = f"server type {server_type} is no longer offered in {location}"
            raise ApiRefusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_server_type", message)
        if location in self._closed:
            # Source: hetzner-k3s#704, spawn#2764.
            raise ApiRefusal(HTTPStatus.PRECONDITION_FAILED, "resource_unavailable", "server location disabled", {})
        if offer.is_sold_out:
            raise ApiRefusal(HTTPStatus.PRECONDITION_FAILED, "resource_unavailable", "error during placement")

    def price_per_hour(self, server_type: str, location: str, *, has_ipv4: bool) -> Decimal | None:
        """Return the net price per hour of a new server, or None when it is not known."""
        known = self._types[server_type].offers[location].price
        if known is None:
            return None
        return known[0] + (self.ipv4[location][0] if has_ipv4 else 0)

    def set_price(self, server_type: str, location: str, hour: Decimal, month: Decimal) -> None:
        """Change the net price of new servers."""
        self._offer(server_type, location).price = (hour, month)

    def remove_price(self, server_type: str, location: str) -> None:
        """Publish no price of the type in the location any more."""
        self._offer(server_type, location).price = None

    def set_sold_out(self, server_type: str, location: str | None, *, is_sold_out: bool) -> None:
        """Let creations fail for lack of capacity or succeed again, in all locations if none is given."""
        for offer in self._offers(server_type, location):
            offer.is_sold_out = is_sold_out

    def close(self, location: str, *, is_closed: bool) -> None:
        """Let creations of all types fail in a location, or succeed again."""
        (self._closed.add if is_closed else self._closed.discard)(location)

    def publish_available(self, server_type: str, location: str, *, is_available: bool) -> None:
        """Change the flag that is published, whatever creations answer."""
        self._offer(server_type, location).is_published = is_available

    def withdraw(self, server_type: str, location: str | None, at: datetime) -> None:
        """Let the offer of the type end at a moment, in all locations if none is given."""
        for offer in self._offers(server_type, location):
            offer.unavailable_after = at

    def _offer(self, server_type: str, location: str) -> _Offer:
        return self._types[server_type].offers[location]

    def _offers(self, server_type: str, location: str | None) -> list[_Offer]:
        offers = self._types[server_type].offers
        return list(offers.values()) if location is None else [offers[location]]

    def place_json(self, location: str) -> dict[str, Any]:
        """Return the location as the API shows it."""
        number, place = self._places[location]
        return {
            "id": number,
            "name": place.name,
            "description": f"{place.city} ({place.zone})",
            "country": place.country,
            "city": place.city,
            "latitude": 50.0,
            "longitude": 12.0,
            "network_zone": place.zone,
        }

    def places_json(self) -> list[dict[str, Any]]:
        """Return all locations."""
        return [self.place_json(name) for name in self._places]

    def type_json(self, server_type: str) -> dict[str, Any]:
        """Return the server type as the API shows it.

        Source: Hetzner's changelog of 2025-09-24: deprecation and availability by location.
        """
        kind = self._types[server_type]
        machine = kind.machine
        return {
            "id": kind.id,
            "name": machine.name,
            "description": machine.name.upper(),
            "category": "general_purpose" if machine.is_dedicated else "regular_purpose",
            "cores": machine.cores,
            "memory": float(machine.memory_gib),
            "disk": machine.disk_gb,
            "deprecated": False,
            "deprecation": None,
            "prices": [
                _price_json(location, offer.price) for location, offer in kind.offers.items() if offer.price is not None
            ],
            "storage_type": "local",
            "cpu_type": "dedicated" if machine.is_dedicated else "shared",
            "architecture": machine.architecture,
            "locations": [
                {
                    "id": self._places[location][0],
                    "name": location,
                    "deprecation": _end_json(offer.unavailable_after),
                    "available": offer.is_published,
                    "recommended": offer.is_published and offer.unavailable_after is None,
                }
                for location, offer in kind.offers.items()
            ],
        }

    def types_json(self) -> list[dict[str, Any]]:
        """Return all server types."""
        return [self.type_json(name) for name in self._types]

    def pricing_json(self) -> dict[str, Any]:
        """Return the body of /pricing; decimals are strings."""
        types = self.types_json()
        ipv4 = [{"location": name, **_amounts_json(*amounts)} for name, amounts in self.ipv4.items()]
        ipv6 = [{"location": name, **_amounts_json(Decimal(0), Decimal(0))} for name in self._places]
        return {
            "currency": "EUR",
            "vat_rate": f"{_VAT * 100:.6f}",
            "image": {"price_per_gb_month": _amount_json(Decimal("0.0110"))},
            "volume": {"price_per_gb_month": _amount_json(Decimal("0.0572"))},
            "server_backup": {"percentage": "20.0000000000"},
            "floating_ip": {"price_monthly": _amount_json(Decimal("3.00"))},
            "floating_ips": [],
            "load_balancer_types": [],
            "primary_ips": [{"type": "ipv4", "prices": ipv4}, {"type": "ipv6", "prices": ipv6}],
            "server_types": [{"id": each["id"], "name": each["name"], "prices": each["prices"]} for each in types],
        }


def _amount_json(net: Decimal) -> dict[str, str]:
    return {"net": f"{net:.10f}", "gross": f"{net * (1 + _VAT):.16f}"}


def _amounts_json(hour: Decimal, month: Decimal) -> dict[str, Any]:
    return {"price_hourly": _amount_json(hour), "price_monthly": _amount_json(month)}


def _price_json(location: str, amounts: tuple[Decimal, Decimal]) -> dict[str, Any]:
    return {
        "location": location,
        **_amounts_json(*amounts),
        "included_traffic": 21990232555520,
        "price_per_tb_traffic": _amount_json(Decimal("1.00")),
    }


def _end_json(at: datetime | None) -> dict[str, str] | None:
    if at is None:
        return None
    return {"announced": (at - _NOTICE).isoformat(), "unavailable_after": at.isoformat()}
