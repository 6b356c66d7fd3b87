"""Offerings of a KwokNodeClass, read from its spec alone: `growth plan` needs them without a cluster."""

from typing import Final

from activities.ports.catalogue import CatalogueRow, ClassCatalogue, Standing
from api.keys import LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_OS, LABEL_REGION, LABEL_ZONE
from api.quantity import parse_amount
from api.v1alpha1.kwok_node_class import KwokLocation, KwokNodeClass, KwokServerType
from planner.objects.class_template import ClassTemplate
from planner.objects.offering import Offering

DEFAULT_PODS: Final = 110
"""The kubelet's own default. Source: KubeletConfiguration v1beta1, maxPods."""


def offerings(node_class: KwokNodeClass) -> tuple[Offering, ...]:
    """Return one offering per server type and location, sold-out ones too, in the order of the class.

    The stock is left out: no cloud shows its stock before it refuses a create call, so plans must not know it.
    """
    return tuple(
        Offering(
            server_type=server_type.name,
            location=location.name,
            price_per_hour=server_type.price_per_hour,
            currency=node_class.spec.currency,
            allocatable=allocatable(server_type),
            labels=node_labels(server_type, location),
            attach_limits=node_class.spec.attach_limits,
            available=location.available,
            cores=capacity(server_type)["cpu"] // 1000,
            millicores=capacity(server_type)["cpu"],
            memory=capacity(server_type)["memory"],
            dedicated=False,
        )
        for server_type in node_class.spec.server_types
        for location in server_type.locations
    )


def class_template(node_class: KwokNodeClass) -> ClassTemplate:
    """Return the labels of each type: a machine that runs nothing has no image."""
    types = node_class.spec.server_types
    return ClassTemplate(by_type={each.name: {"labels": dict(each.labels)} for each in types if each.labels})


def catalogue(node_class: KwokNodeClass) -> ClassCatalogue:
    """Return the class's price list for people: `ProviderKind.catalogue`."""
    return ClassCatalogue(
        rows=tuple(
            _row(server_type, location)
            for server_type in node_class.spec.server_types
            for location in server_type.locations
        ),
        currency=node_class.spec.currency,
    )


def capacity(server_type: KwokServerType) -> dict[str, int]:
    """Return the capacity of a Node of this type: cpu in millicores, all else in whole units."""
    return {"pods": DEFAULT_PODS} | {name: parse_amount(name, text) for name, text in server_type.capacity.items()}


def allocatable(server_type: KwokServerType) -> dict[str, int]:
    """Return the amounts for pods, capacity less overhead, never below zero: cpu in millicores, else whole units."""
    reserved = {name: parse_amount(name, text) for name, text in server_type.overhead.items()}
    return {name: max(0, amount - reserved.get(name, 0)) for name, amount in capacity(server_type).items()}


def node_labels(server_type: KwokServerType, location: KwokLocation) -> dict[str, str]:
    """Return the labels of a Node of this type in this location; the well-known ones cannot be overridden."""
    return {
        **server_type.labels,
        LABEL_ARCH: server_type.architecture,
        LABEL_OS: "linux",
        LABEL_INSTANCE_TYPE: server_type.name,
        LABEL_REGION: location.name,
        LABEL_ZONE: location.zone or location.name,
    }


def _row(server_type: KwokServerType, location: KwokLocation) -> CatalogueRow:
    amounts = capacity(server_type)
    return CatalogueRow(
        server_type=server_type.name,
        architecture=server_type.architecture,
        millicores=amounts["cpu"],
        memory_bytes=amounts["memory"],
        disk_bytes=amounts.get("ephemeral-storage"),
        is_dedicated=False,
        location=location.name,
        price_per_hour=server_type.price_per_hour,
        price_per_month=None,
        standing=Standing.AVAILABLE if location.available else Standing.SOLD_OUT,
        allocatable=allocatable(server_type),
    )
