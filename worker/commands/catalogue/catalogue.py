"""What node classes offer: each server type in each location, its price, and whether it is to be had.

A class that cannot be used now is told of with its prices all the same: a person looks at them before anything runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from activities.providers.hetzner.classes.catalogue import (
    image_key,
    ipv4_by_location,
    offered,
    prices_of,
    usable_locations,
)
from activities.providers.kwok.catalogue import capacity, offerings
from api.conditions import Condition
from api.quantity import parse_units
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.hetzner_node_class_status import CatalogueServerType
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_class_status import BuyingPause
from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.objects.offering import Offering, ResourceVector
from planner.supply.unavailable import pause_in_force
from worker.commands.shared.node_classes import AnyNodeClass, as_planned, ref_of


class Standing(StrEnum):
    """Whether an offering is to be had."""

    AVAILABLE = "Available"
    DOUBTFUL = "Doubtful"
    """The provider says that it is sold out, which need not be so: one machine is tried first."""
    SOLD_OUT = "SoldOut"
    UNMET = "Unmet"
    """It had no capacity, and plans leave it out for a while."""
    WITHDRAWN = "Withdrawn"
    NO_PRICE = "NoPrice"
    """Nobody tells its price, so that it is not bought."""
    NO_IMAGE = "NoImage"
    """The class has no image for its architecture."""


@dataclass(frozen=True, slots=True)
class Row:
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
    """Most that a calendar month costs; None where nobody tells."""
    standing: Standing
    at: datetime | None = None
    """Until when it is left out, or when it is or was withdrawn."""
    allocatable: ResourceVector | None = None
    """What plans count on for pods, before DaemonSets."""
    learned: tuple[str, ...] = ()
    """Resources of which a Node of it has told how much there is."""
    pools: tuple[str, ...] = ()
    """Pools that may buy it."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a class offers."""

    ref: ClassRef
    currency: str
    has_ipv4: bool
    """Whether the prices are with that of a public IPv4 address."""
    read_at: datetime | None
    """When the prices were read; None where the class itself states them, or nobody has read them."""
    problem: str
    """Why nothing of it is bought; empty when it can be."""
    conditions: tuple[Condition, ...]
    """Those that are not fine, besides the problem."""
    pause: BuyingPause | None
    """That the account may not have more now."""
    rows: tuple[Row, ...]
    """The cheapest first."""
    elsewhere: tuple[str, ...] = ()
    """Locations of the project where the class does not buy."""


def catalogue_of(node_class: AnyNodeClass, pools: Iterable[NodePool], now: datetime) -> Catalogue:
    """Return what the class offers, the cheapest first, and what has no price last."""
    status = node_class.status
    ref = ref_of(node_class)
    problem = as_planned(node_class, (), now).problem
    is_hetzner = isinstance(node_class, HetznerNodeClass)
    rows = _of_project(node_class, now) if is_hetzner else _of_file(node_class)
    buyers = _buyers(ref, pools)
    unmet = {(one.server_type.lower(), one.location): one.until for one in status.unavailable if now < one.until}
    found = [replace(_as_met(row, unmet), pools=tuple(buyers.get(row.server_type.lower(), ()))) for row in rows]
    found.sort(key=lambda row: (row.price_per_hour is None, row.price_per_hour, row.server_type, row.location))
    return Catalogue(
        ref=ref,
        currency=(node_class.status.currency or "") if is_hetzner else node_class.spec.currency,
        has_ipv4=is_hetzner and node_class.spec.enable_ipv4,
        read_at=node_class.status.read_at if is_hetzner else None,
        problem=problem,
        conditions=tuple(
            one for one in status.conditions if one.status != "True" and not (problem and one.type == "Ready")
        ),
        pause=pause_in_force(status.pause, now),
        rows=tuple(found),
        elsewhere=_elsewhere(node_class) if is_hetzner else (),
    )


def _buyers(ref: ClassRef, pools: Iterable[NodePool]) -> dict[str, list[str]]:
    """Return the pools that may buy each server type of a class."""
    buyers: dict[str, list[str]] = {}
    for pool in sorted(pools, key=lambda pool: pool.metadata.name):
        if pool.spec.template.class_ref == ref and pool.metadata.deletion_timestamp is None:
            for server_type in pool.spec.server_types:
                buyers.setdefault(server_type.name, []).append(pool.metadata.name)
    return buyers


def _as_met(row: Row, unmet: Mapping[tuple[str, str], datetime]) -> Row:
    """Return the row as the last misses leave it: what is gone for good, or cannot be priced, stays that."""
    until = unmet.get((row.server_type.lower(), row.location))
    if until is None or row.standing not in (Standing.AVAILABLE, Standing.DOUBTFUL):
        return row
    return replace(row, standing=Standing.UNMET, at=until)


def _of_file(node_class: KwokNodeClass) -> Iterator[Row]:
    known = {(one.server_type, one.location): one for one in offerings(node_class)}
    for server_type in node_class.spec.server_types:
        amounts = capacity(server_type)
        for place in server_type.locations:
            yield Row(
                server_type=server_type.name,
                architecture=server_type.architecture,
                millicores=amounts["cpu"],
                memory_bytes=amounts["memory"],
                disk_bytes=amounts.get("ephemeral-storage"),
                is_dedicated=False,
                location=place.name,
                price_per_hour=server_type.price_per_hour,
                price_per_month=None,
                standing=Standing.AVAILABLE if place.available else Standing.SOLD_OUT,
                allocatable=known[server_type.name, place.name].allocatable,
            )


def _of_project(node_class: HetznerNodeClass, now: datetime) -> Iterator[Row]:
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
            yield Row(
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


def _elsewhere(node_class: HetznerNodeClass) -> tuple[str, ...]:
    usable = usable_locations(node_class.spec, node_class.status)
    return tuple(sorted({name for each in node_class.status.server_types for name in _places(each)} - usable))


def _places(server_type: CatalogueServerType) -> Iterator[str]:
    return (place.name for place in server_type.locations)
