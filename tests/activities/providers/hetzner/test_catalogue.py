"""What a HetznerNodeClass offers, from its spec and its status alone.

Prices and sizes are those of Hetzner's public price list after 2026-06-15.
"""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from activities.ports.errors import InvalidConfiguration
from activities.providers.hetzner.api.facts import LocationFacts, PriceFacts, TypeFacts, TypePlaceFacts
from activities.providers.hetzner.classes.catalogue import NotLookedUp, catalogue_of, image_key, offerings, refusal
from activities.providers.hetzner.classes.kubelet import allocatable
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerKubelet, HetznerNodeClass
from api.v1alpha1.hetzner_node_class_status import HetznerNodeClassStatus
from tests.builders import hetzner_node_class

READ_AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
GI = 2**30


def place(location, hour="0.0088", month="5.49", *, available=True, unavailable_after=None):
    price = None if hour is None else Decimal(hour)
    return TypePlaceFacts(location, price, None if month is None else Decimal(month), available, unavailable_after)


CX23 = TypeFacts("cx23", 2, 4 * GI, 40 * 10**9, "amd64", dedicated=False, places=(place("fsn1"), place("hel1")))
CAX11 = TypeFacts("cax11", 2, 4 * GI, 40 * 10**9, "arm64", dedicated=False, places=(place("fsn1", "0.0096", "5.99"),))
CCX13 = TypeFacts("ccx13", 2, 8 * GI, 80 * 10**9, "amd64", dedicated=True, places=(place("ash", "0.0689", "42.99"),))
LOCATIONS = (LocationFacts("fsn1", "eu-central"), LocationFacts("hel1", "eu-central"), LocationFacts("ash", "us-east"))
IPV4 = {name: (Decimal("0.0008"), Decimal("0.50")) for name in ("fsn1", "hel1", "ash")}
IMAGES = [{"architecture": "amd64", "id": 11}, {"architecture": "arm64", "id": 12}]


def node_class(*types, ipv4=IPV4, ready="True", observed=1, message="", reason="Ready", resolved=None, **parts):
    """Return a class whose status is the catalogue of these types; `spec` and `status` replace parts."""
    catalogue = catalogue_of(types or (CX23, CAX11, CCX13), LOCATIONS, PriceFacts("EUR", ipv4))
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-01T12:00:00Z",
        "observedGeneration": observed,
    }
    body = hetzner_node_class(**parts.get("spec", {}))
    body["metadata"]["generation"] = 1
    body["status"] = {
        **HetznerNodeClassStatus(**catalogue).to_json(),
        "readAt": "2026-11-01T12:00:00Z",
        "conditions": [condition],
        "resolved": {"images": IMAGES} | (resolved or {}),
        **parts.get("status", {}),
    }
    return read(HetznerNodeClass, body)


def places_of(node_class):
    return [(offer.server_type, offer.location) for offer in offerings(node_class)]


def test_each_type_in_each_location_is_an_offering_with_the_address_in_its_price():
    offered = offerings(node_class())
    assert [(offer.server_type, offer.location, str(offer.price_per_hour), offer.currency) for offer in offered] == [
        ("cx23", "fsn1", "0.0096", "EUR"),
        ("cx23", "hel1", "0.0096", "EUR"),
        ("cax11", "fsn1", "0.0104", "EUR"),
        ("ccx13", "ash", "0.0697", "EUR"),
    ]
    assert all(offer.available and not offer.is_doubtful and offer.unavailable_because == "" for offer in offered)


def test_an_offering_tells_what_pools_may_ask_for():
    assert [(offer.server_type, offer.cores, offer.memory, offer.dedicated) for offer in offerings(node_class())] == [
        ("cx23", 2, 4 * GI, False),
        ("cx23", 2, 4 * GI, False),
        ("cax11", 2, 4 * GI, False),
        ("ccx13", 2, 8 * GI, True),
    ]


def test_without_public_addresses_the_price_is_that_of_the_server():
    offered = offerings(node_class(CX23, ipv4={}, spec={"enableIPv4": False}))
    assert {offer.price_per_hour for offer in offered} == {Decimal("0.0088")}


def test_what_has_no_known_price_is_not_offered():
    offered = places_of(node_class(replace(CX23, places=(place("fsn1", None), place("hel1")))))
    assert offered == [("cx23", "hel1")]


def test_a_location_whose_address_has_no_known_price_is_not_offered():
    ipv4 = {"hel1": IPV4["hel1"]}
    assert places_of(node_class(CX23, ipv4=ipv4)) == [("cx23", "hel1")]
    assert places_of(node_class(CX23, ipv4=ipv4, spec={"enableIPv4": False})) == [("cx23", "fsn1"), ("cx23", "hel1")]


def test_sizes_are_kept_as_people_know_them():
    odd = replace(CX23, memory_bytes=3 * GI // 2 + 1, disk_bytes=40 * 10**9 + 1)
    for each, memory, disk in ((CX23, "4Gi", "40G"), (odd, "1610612737", "40000000001")):
        (written,) = catalogue_of([each], LOCATIONS, PriceFacts("EUR", {}))["server_types"]
        assert (written.memory, written.disk, written.cores, written.dedicated) == (memory, disk, 2, False)


def test_only_locations_of_the_spec_are_offered():
    assert places_of(node_class(spec={"locations": ["hel1", "ash"]})) == [("cx23", "hel1"), ("ccx13", "ash")]


def test_only_locations_in_the_network_zone_of_every_network_are_offered():
    spec = {"networks": [{"name": "a"}, {"name": "b"}]}
    central, east = ({"id": number, "zone": zone} for number, zone in ((1, "eu-central"), (2, "us-east")))
    assert places_of(node_class(spec=spec, resolved={"networks": [central]})) == [
        ("cx23", "fsn1"),
        ("cx23", "hel1"),
        ("cax11", "fsn1"),
    ]
    assert places_of(node_class(spec=spec, resolved={"networks": [central, east]})) == []


def test_only_architectures_with_an_image_are_offered():
    assert places_of(node_class(resolved={"images": IMAGES[1:]})) == [("cax11", "fsn1")]


def test_a_type_is_offered_until_the_moment_of_its_end_and_then_says_since_when_it_is_not():
    end = READ_AT + timedelta(days=1)
    given = node_class(replace(CX23, places=(place("fsn1", unavailable_after=end),)))
    (before,) = offerings(given, end - timedelta(seconds=1))
    (after,) = offerings(given, end)
    assert before.available
    assert before.unavailable_because == ""
    assert not after.available
    assert after.unavailable_because == "is no longer sold since 2026-11-02"
    # From a dump, the moment of the reading decides: a plan of an old dump does not change with the day.
    assert offerings(given) == (before,)


def test_a_type_that_hetzner_says_is_sold_out_is_offered_with_doubt():
    # cx43 and cx53 were shown as unavailable in nbg1 and bought three times. Source: the provider of itsh-cloud.
    (offer,) = offerings(node_class(replace(CX23, places=(place("fsn1", available=False),))))
    assert (offer.available, offer.is_doubtful) == (True, True)


def test_labels_are_those_that_nodes_have_and_a_zone_is_expected_as_the_cloud_controller_makes_it_up():
    offer = next(offer for offer in offerings(node_class()) if offer.server_type == "cax11")
    assert offer.labels == {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "cax11",
        "topology.kubernetes.io/region": "fsn1",
        "csi.hetzner.cloud/location": "fsn1",
        "instance.hetzner.cloud/provided-by": "cloud",
    }
    assert offer.usual_labels == {"topology.kubernetes.io/zone": "fsn1-dc14"}


def test_allocatable_is_what_the_kubelet_leaves():
    kubelet = {"maxPods": 30, "kubeReserved": {"cpu": "100m", "memory": "200Mi"}}
    (offer, _) = offerings(node_class(CX23, spec={"kubelet": kubelet}))
    parsed = HetznerKubelet.model_validate(kubelet)
    assert offer.allocatable == allocatable(2, 4 * GI, 40 * 10**9, parsed)
    assert (offer.allocatable["cpu"], offer.allocatable["pods"]) == (1900, 30)
    assert offer.allocatable["memory"] < 4 * GI - 300 * 2**20


def test_what_nodes_turned_out_to_have_counts_instead_upwards_too_and_only_for_its_image():
    entry = {"serverType": "cx23", "image": "11", "lastSeenAt": "2026-11-01T11:00:00Z"}
    learned = [
        entry | {"allocatable": {"memory": "4000Mi", "cpu": "1700m"}},
        entry | {"image": "99", "allocatable": {"memory": "1Gi", "pods": "1"}},
        entry | {"serverType": "cax11", "image": "12", "allocatable": {"memory": "3Gi"}},
    ]
    offered = {offer.server_type: offer for offer in offerings(node_class(CX23, CAX11, status={"learned": learned}))}
    guess = allocatable(2, 4 * GI, 40 * 10**9, HetznerKubelet())
    assert guess["memory"] < 4000 * 2**20
    assert offered["cx23"].allocatable == guess | {"memory": 4000 * 2**20, "cpu": 1700}
    assert offered["cax11"].allocatable == guess | {"memory": 3 * GI}


def test_what_was_learnt_under_another_setting_of_the_kubelet_does_not_count():
    # The least that was seen is kept: with the id alone, a class that reserves less would never get the room.
    entry = {"serverType": "cx23", "lastSeenAt": "2026-11-01T11:00:00Z", "allocatable": {"pods": "30"}}
    few = {"kubelet": {"maxPods": 30}}
    key = image_key(node_class(spec=few), "amd64")
    learned = {"learned": [entry | {"image": key}]}
    assert key is not None
    assert key.startswith("11-")
    assert image_key(node_class(), "amd64") == "11"
    assert offerings(node_class(CX23, spec=few, status=learned))[0].allocatable["pods"] == 30
    assert offerings(node_class(CX23, status=learned))[0].allocatable["pods"] == 110


def test_an_architecture_without_image_has_no_key():
    given = node_class(resolved={"images": IMAGES[:1]})
    assert (image_key(given, "amd64"), image_key(given, "arm64")) == ("11", None)
    assert image_key(given.model_copy(update={"status": HetznerNodeClassStatus()}), "amd64") is None


def test_a_class_that_was_never_looked_up_offers_nothing_and_says_so():
    given = node_class().model_copy(update={"status": HetznerNodeClassStatus()})
    with pytest.raises(NotLookedUp, match="HetznerNodeClass default: its prices have not been read yet"):
        offerings(given)


def test_a_class_whose_spec_has_changed_since_offers_nothing_until_it_is_looked_up():
    with pytest.raises(NotLookedUp, match="its spec has not been looked up in the project yet"):
        offerings(node_class(observed=0))


def test_a_class_from_a_file_without_generation_is_taken_as_looked_up():
    given = node_class()
    metadata = given.metadata.model_copy(update={"generation": None})
    assert len(offerings(given.model_copy(update={"metadata": metadata}))) == 4


def test_a_class_that_is_not_ready_offers_nothing_and_says_why():
    fault = "spec.firewalls: the project has no firewall web"
    with pytest.raises(InvalidConfiguration, match=f"HetznerNodeClass default: {fault}") as raised:
        offerings(node_class(ready="False", reason="FirewallNotFound", message=fault))
    assert not isinstance(raised.value, NotLookedUp)


def test_a_project_that_does_not_answer_is_no_fault_of_the_class():
    with pytest.raises(NotLookedUp, match="no answer"):
        offerings(node_class(ready="False", reason="ProjectUnreachable", message="no answer"))


@pytest.mark.parametrize(
    "name", ["gex44", "GEX131", "EX44-NVMe", "ex101", "AX41-NVMe", "ax102-u", "sx65", "RX170", "DX153", "px93"]
)
def test_a_dedicated_server_is_refused_as_one(name):
    sentence = refusal(name)
    assert sentence is not None
    assert sentence.startswith(f"{name.upper()} is a dedicated server of Hetzner Robot")
    assert ("GPU" in sentence) == name.lower().startswith("gex")


@pytest.mark.parametrize("name", ["cx23", "cpx62", "cax41", "ccx63", "ax", "ex-44", "gex44 ", "box1", "max1", ""])
def test_nothing_is_said_against_other_names(name):
    assert refusal(name) is None


def test_plans_from_a_dump_need_no_client_library():
    # `growth plan -f` and `growth --help` are used without any cloud; these imports take half a second.
    code = (
        "import sys, activities.providers.hetzner.classes.catalogue;"
        "sys.exit(any(name in sys.modules for name in ('hcloud', 'requests', 'kubernetes')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_server_takes_16_volumes_of_hetzners_driver_unless_the_class_says_otherwise():
    """Source: Hetzner Cloud docs, "Volumes: FAQ"."""
    assert {o.attach_limits["csi.hetzner.cloud"] for o in offerings(node_class())} == {16}
    other = node_class(spec={"attachLimits": {"csi.example.com": 4}})
    assert offerings(other)[0].attach_limits == {"csi.hetzner.cloud": 16, "csi.example.com": 4}
    fewer = node_class(spec={"attachLimits": {"csi.hetzner.cloud": 7}})
    assert offerings(fewer)[0].attach_limits == {"csi.hetzner.cloud": 7}
