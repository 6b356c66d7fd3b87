"""Offerings of a HetznerNodeClass: from its spec and from the catalogue in its status.

All of it is pure: a plan made from a dump of the cluster, without any token, knows the same prices as the
worker. Prices are Hetzner's own of the project, read at run time; none is written down here.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypedDict

from activities.ports.errors import InvalidConfiguration
from activities.providers.hetzner.api.facts import Architecture, LocationFacts, PriceFacts, TypeFacts, TypePlaceFacts
from activities.providers.hetzner.classes.kubelet import allocatable
from api.keys import LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_OS, LABEL_REGION, LABEL_ZONE
from api.meta import READY
from api.quantity import parse_amount, parse_units
from api.v1alpha1.hetzner_node_class import HetznerKubelet, HetznerNodeClass, HetznerNodeClassSpec
from api.v1alpha1.hetzner_node_class_status import (
    CatalogueIPv4,
    CatalogueLocation,
    CataloguePlace,
    CatalogueServerType,
    HetznerNodeClassStatus,
    ResolvedImage,
    ResolvedNetwork,
)
from planner.objects.offering import Offering

UNREACHABLE: Final = "ProjectUnreachable"
"""Reason of the condition Ready while the project has not answered since the spec changed."""
_ATTACH_LIMITS: Final = {"csi.hetzner.cloud": 16}
"""Volumes that a server can have. Source: Hetzner Cloud docs, "Volumes: FAQ"; csi-driver, MaxVolumesPerNode."""
LABEL_CSI_LOCATION: Final = "csi.hetzner.cloud/location"
"""The location from which volumes can be used. Source: Hetzner's CSI driver, its topology key."""
LABEL_PROVIDED_BY: Final = "instance.hetzner.cloud/provided-by"
"""cloud or robot; set by Hetzner's cloud-controller-manager. Charts keep their pods off dedicated servers by it."""
_ZONES: Final = {
    "ash": "ash-dc1",
    "fsn1": "fsn1-dc14",
    "hel1": "hel1-dc2",
    "hil": "hil-dc1",
    "nbg1": "nbg1-dc3",
    "sin": "sin-dc1",
}
"""Zones that Hetzner's cloud-controller-manager makes up of the location, now that servers tell no data centre; newer
locations are a zone of their own name. It does so by default, and means to stop in its next major version.
Source: hcloud-cloud-controller-manager 1.35, docs/guides/zone-label.md and internal/legacydatacenter/datacenter.go."""
_DEDICATED_SERVER: Final = re.compile(r"(gex|ex|ax|sx|rx|dx|px)[0-9]+[-a-z0-9]*", re.IGNORECASE)
"""Product lines of Hetzner Robot, such as GEX44, EX44-NVMe, AX102, SX65. No server type of the cloud begins so."""
_GPU_LINE: Final = "gex"


class NotLookedUp(InvalidConfiguration):
    """The class as it is now has not been looked up in its project yet. The worker does so soon: nothing is wrong."""


class CatalogueParts(TypedDict):
    """The fields of a class's status that hold the catalogue."""

    currency: str
    server_types: tuple[CatalogueServerType, ...]
    ipv4: tuple[CatalogueIPv4, ...]
    places: tuple[CataloguePlace, ...]


def catalogue_of(types: Sequence[TypeFacts], locations: Sequence[LocationFacts], prices: PriceFacts) -> CatalogueParts:
    """Return the catalogue as a class's status keeps it, in the order of the API.

    Raises:
        ValueError: it has more server types or locations than a status can hold.
    """
    parts = CatalogueParts(
        currency=prices.currency,
        server_types=tuple(
            CatalogueServerType(
                name=each.name,
                cores=each.cores,
                memory=_written(each.memory_bytes, 2**30, "Gi"),
                disk=_written(each.disk_bytes, 10**9, "G"),
                architecture=each.architecture,
                dedicated=each.dedicated,
                locations=tuple(_location(place) for place in each.places),
            )
            for each in types
        ),
        ipv4=tuple(
            CatalogueIPv4(location=location, price_per_hour=hour, price_per_month=month)
            for location, (hour, month) in prices.ipv4.items()
        ),
        places=tuple(CataloguePlace(name=each.name, network_zone=each.network_zone) for each in locations),
    )
    # The API server would refuse the whole status for one entry too many.
    HetznerNodeClassStatus(**parts)
    return parts


def offerings(node_class: HetznerNodeClass, now: datetime | None = None) -> tuple[Offering, ...]:
    """Return one offering per server type and location that the class may buy, in the order of the catalogue.

    Those that are sold no more are among them, with `available` False. What has no known price, and what the
    spec keeps out, is not.

    Args:
        node_class: with its status.
        now: decides what is sold no more. Without it, the moment that the catalogue was read.

    Raises:
        NotLookedUp: it is not known yet whether the class can be used.
        InvalidConfiguration: the class cannot be used as it is; says why.
    """
    status = node_class.status
    where = f"HetznerNodeClass {node_class.metadata.name}"
    ready = next((condition for condition in status.conditions if condition.type == READY), None)
    is_current = ready is not None and node_class.metadata.generation in {None, ready.observed_generation}
    if ready is not None and is_current and ready.status != "True":
        kind = NotLookedUp if ready.reason == UNREACHABLE else InvalidConfiguration
        raise kind(f"{where}: {ready.message or ready.reason}")
    if status.read_at is None:
        raise NotLookedUp(f"{where}: its prices have not been read yet")
    if not is_current:
        raise NotLookedUp(f"{where}: its spec has not been looked up in the project yet")
    return offered(node_class.spec, status, now or status.read_at)


def offered(spec: HetznerNodeClassSpec, status: HetznerNodeClassStatus, now: datetime) -> tuple[Offering, ...]:
    """Return the offerings as `offerings` does, also of a class that is not Ready."""
    addresses = ipv4_by_location(status)
    locations = usable_locations(spec, status)
    learned = {
        (entry.server_type.lower(), entry.image): {
            name: parse_amount(name, text) for name, text in entry.allocatable.items()
        }
        for entry in status.learned
    }
    offerings: list[Offering] = []
    for server_type in status.server_types:
        architecture = server_type.architecture
        image = image_of(status, architecture)
        if image is None or image.disk_bytes > parse_units(server_type.disk):
            continue
        key = _image_key(image.id, spec.kubelet)
        amounts = {
            **allocatable(
                server_type.cores, parse_units(server_type.memory), parse_units(server_type.disk), spec.kubelet
            ),
            **learned.get((server_type.name.lower(), key), {}),
        }
        for place in server_type.locations:
            price, _ = prices_of(place, addresses.get(place.name), has_ipv4=spec.enable_ipv4)
            if price is None or place.name not in locations:
                continue
            gone = place.unavailable_after is not None and place.unavailable_after <= now
            offerings.append(
                Offering(
                    server_type=server_type.name,
                    location=place.name,
                    price_per_hour=price,
                    currency=status.currency or "",
                    allocatable=amounts,
                    labels=node_labels(server_type.name, place.name, architecture),
                    attach_limits={**_ATTACH_LIMITS, **spec.attach_limits},
                    usual_labels={LABEL_ZONE: _ZONES.get(place.name, place.name)},
                    available=not gone,
                    unavailable_because=f"is no longer sold since {place.unavailable_after:%Y-%m-%d}" if gone else "",
                    # The flag was seen to be wrong both ways, so it only asks for care: three servers were bought
                    # while it said no. Source: itsh-cloud/karpenter-provider-hcloud, 2026-08-16.
                    is_doubtful=not place.available,
                    cores=server_type.cores,
                    memory=parse_units(server_type.memory),
                    dedicated=server_type.dedicated,
                )
            )
    return tuple(offerings)


def usable_locations(spec: HetznerNodeClassSpec, status: HetznerNodeClassStatus) -> frozenset[str]:
    """Return the locations of the project that the spec names, if it names any, and that all its networks reach.

    A network that has not been looked up keeps nothing out: without it, the class is not Ready.
    """
    networks = () if status.resolved is None else status.resolved.networks
    return frozenset(
        place.name
        for place in status.places
        if (not spec.locations or place.name in spec.locations)
        and all(place.network_zone in network_zones(network) for network in networks)
    )


def network_zones(network: ResolvedNetwork) -> tuple[str, ...]:
    """Return the network zones whose servers can join the network; a class that was read earlier knows one."""
    return network.zones or (network.zone,)


def node_labels(server_type: str, location: str, architecture: Architecture) -> dict[str, str]:
    """Return the labels that a Node of this type in this location has.

    Without a zone, which Hetzner's cloud-controller-manager can be told not to set: see `_ZONES`.
    """
    return {
        LABEL_ARCH: architecture,
        LABEL_OS: "linux",
        LABEL_INSTANCE_TYPE: server_type,
        LABEL_REGION: location,
        LABEL_CSI_LOCATION: location,
        LABEL_PROVIDED_BY: "cloud",
    }


def image_key(node_class: HetznerNodeClass, architecture: str) -> str | None:
    """Return what, besides the server type, decides how much of a machine pods can have; None if there is no image.

    The image's id. What the kubelet keeps belongs to it where that is not the default: what was learned under
    another setting would otherwise hold for ever, as only the least that was seen is kept.
    """
    image = image_of(node_class.status, architecture)
    return None if image is None else _image_key(image.id, node_class.spec.kubelet)


def image_of(status: HetznerNodeClassStatus, architecture: str) -> ResolvedImage | None:
    """Return the image that servers of an architecture get, or None if the class has none for it."""
    images = () if status.resolved is None else status.resolved.images
    return next((image for image in images if image.architecture == architecture), None)


def ipv4_by_location(status: HetznerNodeClassStatus) -> dict[str, CatalogueIPv4]:
    """Return the prices of a public IPv4 address by location."""
    return {each.location: each for each in status.ipv4}


def prices_of(
    place: CatalogueLocation, address: CatalogueIPv4 | None, *, has_ipv4: bool
) -> tuple[Decimal | None, Decimal | None]:
    """Return the price of a server per hour, and at most per month, with its address.

    None where any part is unknown: it must not count as nothing.
    """
    if not has_ipv4:
        return place.price_per_hour, place.price_per_month
    if address is None:
        return None, None
    return (
        None if place.price_per_hour is None else place.price_per_hour + address.price_per_hour,
        None if place.price_per_month is None else place.price_per_month + address.price_per_month,
    )


def refusal(server_type: str) -> str | None:
    """Return why no class can ever offer the type: it is a dedicated server, which is not sold by the hour."""
    if not _DEDICATED_SERVER.fullmatch(server_type):
        return None
    gpu = " (with a GPU)" if server_type.lower().startswith(_GPU_LINE) else ""
    return (
        f"{server_type.upper()} is a dedicated server of Hetzner Robot{gpu}: "
        "it is ordered by hand and cannot be bought by the hour"
    )


def _image_key(image: int, kubelet: HetznerKubelet) -> str:
    if kubelet == HetznerKubelet():
        return str(image)
    settings = json.dumps(kubelet.to_json(), sort_keys=True)
    return f"{image}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}"


def _location(place: TypePlaceFacts) -> CatalogueLocation:
    return CatalogueLocation(
        name=place.location,
        price_per_hour=place.price_per_hour,
        price_per_month=place.price_per_month,
        available=place.available,
        unavailable_after=place.unavailable_after,
    )


def _written(amount: int, unit: int, suffix: str) -> str:
    whole, rest = divmod(amount, unit)
    return str(amount) if rest else f"{whole}{suffix}"
