"""The price list of a HetznerNodeClass for people: all that its project sells where the class may buy."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from activities.ports.catalogue import CatalogueRow, ClassCatalogue, Standing
from activities.providers.hetzner.classes.catalogue import (
    image_key,
    ipv4_by_location,
    offered,
    prices_of,
    usable_locations,
)
from api.quantity import parse_units
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from planner.objects.offering import Offering


def price_list(node_class: HetznerNodeClass, now: datetime) -> ClassCatalogue:
    """Return the price list of the class's project at this time: `ProviderKind.catalogue`."""
    spec, status = node_class.spec, node_class.status
    usable = usable_locations(spec, status)
    places = {place.name for server_type in status.server_types for place in server_type.locations}
    return ClassCatalogue(
        rows=tuple(_rows(node_class, now)),
        currency=status.currency or "",
        has_ipv4=spec.enable_ipv4,
        read_at=status.read_at,
        is_unread=status.read_at is None,
        elsewhere=tuple(sorted(places - usable)),
    )


def _rows(node_class: HetznerNodeClass, now: datetime) -> Iterator[CatalogueRow]:
    spec, status = node_class.spec, node_class.status
    known = {(one.server_type, one.location): one for one in offered(spec, status, now)}
    learned = {(one.server_type.lower(), one.image): tuple(sorted(one.allocatable)) for one in status.learned}
    locations = usable_locations(spec, status)
    addresses = ipv4_by_location(status)
    for server_type in status.server_types:
        image = image_key(node_class, server_type.architecture)
        for place in server_type.locations:
            if place.name not in locations:
                continue
            offering = known.get((server_type.name, place.name))
            per_hour, per_month = prices_of(place, addresses.get(place.name), has_ipv4=spec.enable_ipv4)
            yield CatalogueRow(
                server_type=server_type.name,
                architecture=server_type.architecture,
                millicores=1000 * server_type.cores,
                memory_bytes=parse_units(server_type.memory),
                disk_bytes=parse_units(server_type.disk),
                is_dedicated=server_type.dedicated,
                location=place.name,
                price_per_hour=per_hour,
                price_per_month=per_month,
                standing=_standing(offering, per_hour),
                at=place.unavailable_after,
                allocatable=None if offering is None else offering.allocatable,
                learned=() if image is None else learned.get((server_type.name.lower(), image), ()),
            )


def _standing(offering: Offering | None, per_hour: Decimal | None) -> Standing:
    if offering is None:
        return Standing.NO_PRICE if per_hour is None else Standing.NO_IMAGE
    if not offering.available:
        return Standing.WITHDRAWN
    return Standing.DOUBTFUL if offering.is_doubtful else Standing.AVAILABLE
