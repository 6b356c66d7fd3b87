"""Pools and KWOK node classes for simulated clusters, in few words and checked by the API's own models."""

from collections.abc import Iterable
from typing import Any

from activities.ports.cluster import Object
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool


def machine(
    name: str,
    *,
    cpu: int,
    memory: int,
    price: str,
    locations: Iterable[str | dict[str, Any]] = ("fsn1",),
    boot_time: str = "2s",
    architecture: str = "amd64",
    overhead: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return a server type of a KwokNodeClass.

    Args:
        name: as pools name it.
        cpu: cores.
        memory: GiB.
        price: per hour, decimal text.
        locations: names, or whole locations where stock or availability matters.
        boot_time: of all locations given by name, a duration with a unit.
        architecture: amd64 or arm64.
        overhead: quantities that the machine keeps for itself.
    """
    return {
        "name": name,
        "capacity": {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "110"},
        "overhead": overhead or {},
        "architecture": architecture,
        "pricePerHour": price,
        "locations": [
            {"name": place, "bootTime": boot_time} if isinstance(place, str) else {"bootTime": boot_time} | place
            for place in locations
        ],
    }


def node_class(machines: Iterable[dict[str, Any]], *, faults: Iterable[dict[str, Any]] = ()) -> Object:
    """Return the KwokNodeClass named default.

    Raises:
        ValidationError: it is not one; names the field.
    """
    return KwokNodeClass.model_validate(
        {
            "metadata": {"name": "default"},
            "spec": {"serverTypes": list(machines), "faults": list(faults)},
        }
    ).to_json()


def node_pool(name: str, server_types: Iterable[dict[str, Any]], **spec: Any) -> Object:
    """Return a NodePool; further fields of its spec are given as the API names them.

    Raises:
        ValidationError: it is not one; names the field.
    """
    return NodePool.model_validate(
        {"metadata": {"name": name}, "spec": {"serverTypes": list(server_types), **spec}}
    ).to_json()
