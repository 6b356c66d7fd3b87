"""What a KwokNodeClass offers, from its spec alone."""

from decimal import Decimal

from activities.providers.kwok.catalogue import capacity, offerings
from api.v1alpha1.kwok_node_class import KwokNodeClass


def node_class(**changes):
    kind = {
        "name": "CX22",
        "capacity": {"cpu": "2", "memory": "4Gi", "example.com/gpu": 1},
        "overhead": {"cpu": "70m", "memory": "100Mi"},
        "architecture": "arm64",
        "labels": {"disk": "ssd"},
        "pricePerHour": "0.0066",
        "locations": [{"name": "fsn1", "zone": "fsn1-dc14"}, {"name": "hel1", "available": False, "stock": 0}],
    }
    spec = {"currency": "USD", "serverTypes": [kind | changes]}
    return KwokNodeClass.model_validate({"metadata": {"name": "default"}, "spec": spec})


def test_one_offering_for_each_location_sold_out_ones_too():
    first, second = offerings(node_class())
    assert (first.server_type, first.location, first.available) == ("cx22", "fsn1", True)
    assert (second.server_type, second.location, second.available) == ("cx22", "hel1", False)
    assert (first.price_per_hour, first.currency) == (Decimal("0.0066"), "USD")


def test_attach_limits_are_those_that_the_class_declares_or_none():
    assert offerings(node_class())[0].attach_limits == {}
    declared = KwokNodeClass.model_validate(
        {"metadata": {"name": "default"}, "spec": node_class().spec.to_json() | {"attachLimits": {"a.example": 3}}}
    )
    assert offerings(declared)[0].attach_limits == {"a.example": 3}


def test_allocatable_is_capacity_less_overhead_with_a_default_for_pods():
    (offering, _) = offerings(node_class())
    assert offering.allocatable == {
        "cpu": 1930,
        "memory": 4 * 2**30 - 100 * 2**20,
        "example.com/gpu": 1,
        "pods": 110,
    }
    given = node_class(capacity={"cpu": "2", "memory": "4Gi", "pods": 30})
    assert offerings(given)[0].allocatable["pods"] == 30
    assert capacity(given.spec.server_types[0])["cpu"] == 2000


def test_labels_are_those_a_node_will_have():
    first, second = offerings(node_class())
    assert first.labels == {
        "disk": "ssd",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "cx22",
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1-dc14",
    }
    assert second.labels["topology.kubernetes.io/zone"] == "hel1"


def test_stock_is_not_told():
    # A provider's stock shows only when it refuses: a plan that knew it could not be surprised.
    (offering, _) = offerings(node_class(locations=[{"name": "a", "stock": 0}, {"name": "b"}]))
    assert offering.available
