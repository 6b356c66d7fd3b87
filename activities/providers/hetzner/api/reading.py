"""Hetzner's JSON as facts, and an order as JSON. What an answer holds besides does no harm: a newer API may have more.

Whatever reads may raise KeyError, TypeError, ValueError or AttributeError when the JSON is not as documented:
what is not understood must never pass for something that is not there.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

from activities.providers.hetzner.api.facts import (
    ActionFacts,
    Architecture,
    GroupFacts,
    ImageFacts,
    LocationFacts,
    NamedFacts,
    NetworkFacts,
    PriceFacts,
    ServerCreation,
    ServerFacts,
    TypeFacts,
    TypePlaceFacts,
)

ARCHITECTURES: Final[dict[str, Architecture]] = {"x86": "amd64", "arm": "arm64"}
"""Hetzner's names of architectures and Kubernetes' own."""
_GIB: Final = 2**30
"""Bytes of what the API calls a GB of memory."""
_GB: Final = 10**9
"""Bytes of a GB of disk."""
_SMALLEST_PRICE: Final = Decimal("1E-9")
"""Prices have nine digits after the point, as `api.quantity` has it; Hetzner writes up to sixteen."""
_MOST: Final = Decimal(10) ** 9
"""Larger than any price: `api.quantity` has nine digits before the point, too. The API server would refuse the whole
status of a class for one more."""
_JOINED: Final = frozenset({"cloud", "server"})
"""Types of subnets that servers can have addresses of."""
_STATUSES: Final = ("running", "success", "error")


def moment(text: str) -> datetime:
    """Return the point in time, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)


def server(body: Any) -> ServerFacts:
    """Return a server."""
    group = body.get("placement_group")
    return ServerFacts(
        id=int(body["id"]),
        name=body["name"],
        status=body["status"],
        server_type=body["server_type"]["name"],
        location=body["location"]["name"],
        labels=dict(body.get("labels") or {}),
        created_at=moment(body["created"]),
        networks=tuple(int(one["network"]) for one in body.get("private_net") or ()),
        placement_group=None if group is None else int(group["id"]),
        is_protected=bool((body.get("protection") or {}).get("delete")),
    )


def action(body: Any) -> ActionFacts:
    """Return an action."""
    status = body["status"]
    if status not in _STATUSES:
        raise ValueError(status)
    error = body.get("error") or {}
    return ActionFacts(
        id=int(body["id"]),
        command=body["command"],
        status=status,
        progress=int(body.get("progress") or 0),
        error_code=str(error.get("code") or ""),
        error_message=str(error.get("message") or ""),
    )


def group(body: Any) -> GroupFacts:
    """Return a placement group."""
    return GroupFacts(
        id=int(body["id"]),
        name=body["name"],
        labels=dict(body.get("labels") or {}),
        servers=tuple(int(member) for member in body.get("servers") or ()),
    )


def server_type(body: Any) -> TypeFacts | None:
    """Return a server type, or None when it is of an architecture that Nodes cannot have."""
    if body["architecture"] not in ARCHITECTURES:
        return None
    return TypeFacts(
        name=body["name"],
        cores=int(body["cores"]),
        memory_bytes=int(Fraction(str(body["memory"])) * _GIB),
        disk_bytes=int(Fraction(str(body["disk"])) * _GB),
        architecture=ARCHITECTURES[body["architecture"]],
        dedicated=body.get("cpu_type") == "dedicated",
        places=tuple(_places(body)),
    )


def _places(body: Any) -> Iterator[TypePlaceFacts]:
    """Yield where the server type is offered.

    Where no locations are listed, as before 2025-09-24, its prices tell them.
    """
    prices = {each["location"]: each for each in body.get("prices") or ()}
    listed = {each["name"]: each for each in body.get("locations") or ()}
    for name in listed or prices:
        place = listed.get(name, {})
        deprecation = place["deprecation"] if "deprecation" in place else body.get("deprecation")
        until = (deprecation or {}).get("unavailable_after")
        cost = prices.get(name, {})
        yield TypePlaceFacts(
            location=name,
            price_per_hour=price(cost.get("price_hourly")),
            price_per_month=price(cost.get("price_monthly")),
            available=place.get("available") is not False,
            unavailable_after=moment(until) if until else None,
        )


def price(body: Any) -> Decimal | None:
    """Return the net price, or None when there is none: a price that is missing or 0 must never look like a gift."""
    net = body.get("net") if isinstance(body, dict) else None
    if not isinstance(net, str):
        return None
    try:
        amount = Decimal(net)
    except InvalidOperation:
        return None
    if not amount.is_finite() or amount >= _MOST:
        return None
    exact = amount.quantize(_SMALLEST_PRICE, rounding=ROUND_HALF_EVEN).normalize()
    return exact if 0 < exact < _MOST else None


def location(body: Any) -> LocationFacts:
    """Return a location."""
    return LocationFacts(name=body["name"], network_zone=body["network_zone"])


def prices(body: Any) -> PriceFacts:
    """Return the prices that do not depend on the server type, without locations whose IPv4 price is incomplete."""
    ipv4: dict[str, tuple[Decimal, Decimal]] = {}
    for kind in body.get("primary_ips") or ():
        if kind.get("type") != "ipv4":
            continue
        for each in kind.get("prices") or ():
            hourly, monthly = price(each.get("price_hourly")), price(each.get("price_monthly"))
            if hourly is not None and monthly is not None:
                ipv4[each["location"]] = hourly, monthly
    return PriceFacts(currency=body["currency"], ipv4=ipv4)


def image(body: Any) -> ImageFacts | None:
    """Return an image, or None when it is of an architecture that Nodes cannot have."""
    if body["architecture"] not in ARCHITECTURES:
        return None
    return ImageFacts(
        id=int(body["id"]),
        name=body.get("name") or body.get("description") or "",
        architecture=ARCHITECTURES[body["architecture"]],
        created_at=moment(body["created"]),
        is_available=body["status"] == "available" and not body.get("deleted"),
        disk_bytes=round(float(body.get("disk_size") or 0) * _GB),
    )


def network(body: Any) -> NetworkFacts:
    """Return a private network."""
    # Servers join subnets of the cloud, and not those of vSwitches; one without a type is of an older API.
    subnets = tuple(
        (subnet.get("ip_range") or "", subnet["network_zone"])
        for subnet in body.get("subnets") or ()
        if subnet.get("type", "cloud") in _JOINED
    )
    return NetworkFacts(id=int(body["id"]), name=body["name"], subnets=subnets)


def named(body: Any) -> NamedFacts:
    """Return something of which only id and name matter."""
    return NamedFacts(id=int(body["id"]), name=body["name"])


def architecture_name(architecture: Architecture) -> str:
    """Return Hetzner's name of the architecture."""
    return next(theirs for theirs, ours in ARCHITECTURES.items() if ours == architecture)


def creation_body(creation: ServerCreation) -> dict[str, Any]:
    """Return the body of a create call, as JSON."""
    group = creation.placement_group
    return {
        "name": creation.name,
        "server_type": creation.server_type,
        "location": creation.location,
        "image": creation.image,
        "labels": dict(creation.labels),
        "user_data": creation.user_data,
        "ssh_keys": list(creation.ssh_keys),
        "networks": list(creation.networks),
        "firewalls": [{"firewall": firewall} for firewall in creation.firewalls],
        "public_net": {"enable_ipv4": creation.enable_ipv4, "enable_ipv6": creation.enable_ipv6},
        "start_after_create": creation.start,
    } | ({} if group is None else {"placement_group": group})
