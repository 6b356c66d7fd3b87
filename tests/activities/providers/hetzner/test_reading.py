"""Hetzner's JSON as facts: bodies in the shape of its API docs, and what is missing or odd in them."""

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from activities.providers.hetzner.api import reading
from activities.providers.hetzner.api.facts import (
    ActionFacts,
    GroupFacts,
    ImageFacts,
    LocationFacts,
    NamedFacts,
    NetworkFacts,
    PriceFacts,
    ServerFacts,
    TypeFacts,
    TypePlaceFacts,
)
from api.v1alpha1.hetzner_node_class_status import CatalogueLocation

SERVER = {
    "id": 42,
    "name": "general-x7",
    "status": "running",
    "created": "2026-11-01T10:00:00+02:00",
    "server_type": {"id": 1, "name": "cx23", "cores": 2},
    "location": {"id": 3, "name": "fsn1", "network_zone": "eu-central"},
    "labels": {"growth.dev/cluster": "prod"},
    "private_net": [{"network": 7, "ip": "10.0.1.2", "alias_ips": []}, {"network": 8, "ip": "10.1.0.2"}],
    "placement_group": {"id": 5, "name": "g-1", "type": "spread"},
    "protection": {"delete": True, "rebuild": True},
    "public_net": {"ipv4": None},
    "a_field_of_tomorrow": {"x": 1},
}


def price(hourly="0.0088000000000000", monthly="5.4900000000", **more):
    return {
        "price_hourly": {"net": hourly, "gross": "9"},
        "price_monthly": {"net": monthly, "gross": "9"},
        **more,
    }


SERVER_TYPE = {
    "id": 1,
    "name": "cx23",
    "cores": 2,
    "memory": 4.0,
    "disk": 40,
    "cpu_type": "shared",
    "architecture": "x86",
    "prices": [price(location="fsn1"), price(location="nbg1", hourly="0.0090")],
    "locations": [
        {"id": 1, "name": "fsn1", "available": True, "recommended": True, "deprecation": None},
        {
            "id": 2,
            "name": "nbg1",
            "available": False,
            "deprecation": {"announced": "2026-06-01T00:00:00Z", "unavailable_after": "2026-12-01T00:00:00Z"},
        },
    ],
}


def a_type(**changed) -> TypeFacts:
    read = reading.server_type(deepcopy(SERVER_TYPE) | changed)
    assert read is not None
    return read


def test_a_server_is_read_and_fields_that_are_not_known_do_no_harm():
    assert reading.server(SERVER) == ServerFacts(
        id=42,
        name="general-x7",
        status="running",
        server_type="cx23",
        location="fsn1",
        labels={"growth.dev/cluster": "prod"},
        created_at=datetime(2026, 11, 1, 8, tzinfo=UTC),
        networks=(7, 8),
        placement_group=5,
        is_protected=True,
    )


def test_a_server_without_group_networks_protection_and_datacenter_is_read():
    bare = {key: SERVER[key] for key in ("id", "name", "status", "created", "server_type", "location")}
    read = reading.server(bare | {"placement_group": None})
    assert (read.networks, read.placement_group, read.is_protected, read.labels) == ((), None, False, {})


@pytest.mark.parametrize("missing", ["id", "name", "status", "created", "server_type", "location"])
def test_a_server_that_is_not_whole_is_an_error_and_not_another_server(missing):
    with pytest.raises(KeyError):
        reading.server({key: value for key, value in SERVER.items() if key != missing})


def test_an_action_is_read_with_and_without_its_error():
    body = {"id": 1, "command": "create_server", "status": "running", "progress": 40, "error": None}
    assert reading.action(body) == ActionFacts(1, "create_server", "running", 40)
    failed = body | {"status": "error", "error": {"code": "resource_unavailable", "message": "error during placement"}}
    assert reading.action(failed) == ActionFacts(
        1, "create_server", "error", 40, "resource_unavailable", "error during placement"
    )


def test_an_action_of_a_status_that_is_not_known_does_not_pass_for_a_finished_one():
    with pytest.raises(ValueError, match="paused"):
        reading.action({"id": 1, "command": "create_server", "status": "paused", "progress": 0})


def test_memory_is_in_binary_and_disk_in_decimal_gigabytes():
    read = a_type(memory=0.5)
    assert (read.memory_bytes, read.disk_bytes) == (512 * 2**20, 40 * 10**9)
    assert a_type().memory_bytes == 4 * 2**30


def test_a_server_type_is_read_with_each_location_and_its_net_prices():
    assert a_type() == TypeFacts(
        name="cx23",
        cores=2,
        memory_bytes=4 * 2**30,
        disk_bytes=40 * 10**9,
        architecture="amd64",
        dedicated=False,
        places=(
            TypePlaceFacts("fsn1", Decimal("0.0088"), Decimal("5.49"), available=True),
            TypePlaceFacts(
                "nbg1",
                Decimal("0.009"),
                Decimal("5.49"),
                available=False,
                unavailable_after=datetime(2026, 12, 1, tzinfo=UTC),
            ),
        ),
    )


def test_architectures_are_named_as_kubernetes_does_and_others_are_none():
    assert [a_type(architecture=name).architecture for name in ("arm", "x86")] == ["arm64", "amd64"]
    assert reading.server_type(SERVER_TYPE | {"architecture": "riscv"}) is None
    assert [reading.architecture_name("arm64"), reading.architecture_name("amd64")] == ["arm", "x86"]


def test_a_location_without_a_price_is_there_without_a_price():
    places = a_type(prices=[price(location="fsn1")]).places
    assert [(place.location, place.price_per_hour, place.price_per_month) for place in places] == [
        ("fsn1", Decimal("0.0088"), Decimal("5.49")),
        ("nbg1", None, None),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "0.0088",
        {},
        {"net": None},
        {"net": 0.0088},
        {"net": ""},
        {"net": "free"},
        {"net": "NaN"},
        {"net": "Infinity"},
        {"net": "-0.01"},
        {"net": "0"},
        {"net": "0E-10"},
        {"net": "0.0000000001"},
        {"net": "1000000000"},
        {"net": "999999999.9999999996"},
        {"gross": "0.0105"},
    ],
)
def test_a_price_that_is_missing_malformed_or_nothing_is_unknown_and_never_a_gift(answer):
    assert reading.price(answer) is None


@pytest.mark.parametrize(
    ("net", "expected"),
    [
        # 5.49 euros are 0.00879807692307... an hour over 624 hours; the API writes such numbers.
        ("0.0087980769230769", "0.008798077"),
        ("0.000000001", "0.000000001"),
        ("999999999.9999999994", "999999999.999999999"),
        ("500.0000", "500"),
    ],
)
def test_a_price_has_nine_digits_on_either_side_at_most_as_a_status_takes_it(net, expected):
    place = CatalogueLocation(name="fsn1", price_per_hour=reading.price({"net": net}), available=True)
    json = place.to_json()
    assert json["pricePerHour"] == expected
    assert CatalogueLocation.model_validate(json) == place


def test_a_deprecation_of_the_type_holds_where_the_location_does_not_say():
    body = deepcopy(SERVER_TYPE)
    del body["locations"][1]["deprecation"]
    read = a_type(**body | {"deprecation": {"unavailable_after": "2027-01-01T00:00:00Z"}})
    assert [place.unavailable_after for place in read.places] == [None, datetime(2027, 1, 1, tzinfo=UTC)]


def test_without_locations_the_prices_tell_where_a_type_is_sold():
    read = a_type(locations=[], deprecation={"unavailable_after": "2027-01-01T00:00:00Z"})
    until = datetime(2027, 1, 1, tzinfo=UTC)
    assert [(place.location, place.available, place.unavailable_after) for place in read.places] == [
        ("fsn1", True, until),
        ("nbg1", True, until),
    ]


def test_prices_of_ipv4_are_net_and_a_location_whose_price_is_not_whole_is_left_out():
    body = {
        "currency": "EUR",
        "vat_rate": "19.00",
        "primary_ips": [
            {"type": "ipv6", "prices": [price(location="fsn1", hourly="7")]},
            {
                "type": "ipv4",
                "prices": [
                    price(location="fsn1", hourly="0.0008000000", monthly="0.5000000000"),
                    price(location="nbg1", hourly="0.0000000000"),
                    {"location": "hel1"},
                ],
            },
        ],
    }
    assert reading.prices(body) == PriceFacts("EUR", {"fsn1": (Decimal("0.0008"), Decimal("0.5"))})


def test_an_image_is_named_by_its_name_or_the_description_of_a_snapshot():
    body = {
        "id": 9,
        "name": None,
        "description": "golden 7",
        "architecture": "arm",
        "created": "2026-10-01T00:00:00Z",
        "status": "available",
        "deleted": None,
    }
    created = datetime(2026, 10, 1, tzinfo=UTC)
    whole = ImageFacts(9, "golden 7", "arm64", created, is_available=True)
    assert reading.image(body) == whole
    assert reading.image(body | {"name": "debian-12"}) == replace(whole, name="debian-12")
    for state in ({"status": "creating"}, {"status": "unavailable"}, {"deleted": "2026-10-02T00:00:00Z"}):
        assert reading.image(body | state) == replace(whole, is_available=False)
    assert reading.image(body | {"architecture": "riscv"}) is None


def test_a_network_has_the_zone_of_each_subnet():
    subnets = [
        {"type": "cloud", "ip_range": "10.0.1.0/24", "network_zone": "eu-central"},
        {"type": "cloud", "ip_range": "10.0.2.0/24", "network_zone": "eu-central"},
        {"type": "cloud", "ip_range": "10.0.3.0/24", "network_zone": "us-east"},
    ]
    read = reading.network({"id": 7, "name": "net", "subnets": subnets})
    central, east = "eu-central", "us-east"
    assert read == NetworkFacts(7, "net", (("10.0.1.0/24", central), ("10.0.2.0/24", central), ("10.0.3.0/24", east)))
    assert reading.network({"id": 7, "name": "net", "subnets": []}) == NetworkFacts(7, "net", ())


def test_groups_locations_firewalls_and_keys_are_read():
    group = {"id": 5, "name": "g-1", "labels": {"a": "b"}, "servers": [1, 2], "type": "spread"}
    assert reading.group(group) == GroupFacts(5, "g-1", {"a": "b"}, (1, 2))
    assert reading.location({"id": 1, "name": "fsn1", "network_zone": "eu-central"}) == LocationFacts(
        "fsn1", "eu-central"
    )
    assert reading.named({"id": 3, "name": "web", "rules": []}) == NamedFacts(3, "web")
