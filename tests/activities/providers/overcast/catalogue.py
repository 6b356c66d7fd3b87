"""What an OvercastNodeClass offers: every type in both locations, of which one is sold out for ever."""

from activities.ports.catalogue import CatalogueRow, ClassCatalogue, Standing
from api.keys import LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_OS, LABEL_REGION
from overcast.model import OvercastNodeClass, OvercastServerType
from planner.objects.offering import Offering

LOCATIONS = {"cirrus": True, "stratus": False}
"""Whether machines can be had."""


def amounts(server_type: OvercastServerType) -> dict[str, int]:
    return {"cpu": 1000 * server_type.cores, "memory": server_type.cores * 4 * 2**30, "pods": 110}


def offerings(node_class: OvercastNodeClass) -> tuple[Offering, ...]:
    return tuple(
        Offering(
            server_type=each.name,
            location=location,
            price_per_hour=each.price_per_hour,
            currency="EUR",
            allocatable=amounts(each),
            labels={
                LABEL_ARCH: "amd64",
                LABEL_OS: "linux",
                LABEL_INSTANCE_TYPE: each.name,
                LABEL_REGION: location,
            },
            available=is_available,
        )
        for each in node_class.spec.server_types
        for location, is_available in LOCATIONS.items()
    )


def catalogue(node_class: OvercastNodeClass) -> ClassCatalogue:
    cores = {each.name: each.cores for each in node_class.spec.server_types}
    rows = tuple(
        CatalogueRow(
            server_type=one.server_type,
            architecture="amd64",
            millicores=1000 * cores[one.server_type],
            memory_bytes=one.allocatable["memory"],
            disk_bytes=None,
            is_dedicated=False,
            location=one.location,
            price_per_hour=one.price_per_hour,
            price_per_month=None,
            standing=Standing.AVAILABLE if one.available else Standing.SOLD_OUT,
            allocatable=one.allocatable,
        )
        for one in offerings(node_class)
    )
    return ClassCatalogue(rows=rows, currency="EUR")
