from datetime import UTC, datetime
from decimal import Decimal

import pytest

from activities.objects.start_notes import listed_prices, note_on_removal, note_on_request, prices
from activities.ports.ports import Ports
from activities.providers.kwok.provider import KwokProvider
from planner.objects.offering import Offering
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from simulator.world import NAMESPACE, World

REF = {"kind": "KwokNodeClass", "name": "default"}
PRICES = prices([("KwokNodeClass", "default", [Offering("cx33", "fsn1", Decimal("0.01360"), "EUR", {})])])


def now():
    return datetime(2026, 11, 1, 12, tzinfo=UTC)


def request(name="m-1", *, pods=0, status=None, **spec):
    seats = [{"namespace": "shop", "name": f"web-{number}", "uid": str(number)} for number in range(pods)]
    wanted = {"pool": "default", "serverType": "cx33", "location": "fsn1", "classRef": REF, "reservedFor": seats}
    return _object("NodeRequest", name, wanted | spec, status)


def removal(name="m-1", *, status=None, **spec):
    wanted = {"serverName": name, "pool": "default", "serverType": "cx33", "location": "fsn1", "classRef": REF}
    return _object("NodeRemovalRequest", name, wanted | spec, status)


def _object(kind, name, spec, status):
    body = {"apiVersion": "growth.dev/v1alpha1", "kind": kind, "metadata": {"name": name, "uid": "u-1"}, "spec": spec}
    return body if status is None else body | {"status": status}


def test_a_request_tells_machine_pods_and_price():
    note = note_on_request(request(pods=3), PRICES)
    assert note.summary == "m-1: cx33 in fsn1 shall come for 3 pods, 0.0136 EUR/h"
    assert note.details.split("\n") == [
        "- **Machine:** cx33 in fsn1, 0.0136 EUR/h",
        "- **Pool:** default, of KwokNodeClass default",
        "- **For:** shop/web-0, shop/web-1, shop/web-2",
        "- **Object:** `kubectl get noderequests.growth.dev m-1 -o yaml`",
        "- **Why:** `growth why request m-1`",
    ]
    assert (note.pool, note.offering, note.phase) == ("default", "cx33 fsn1", "Pending")


def test_a_request_for_no_pod_of_an_offering_without_a_price():
    note = note_on_request(request(serverType="cx99"), PRICES)
    assert note.summary == "m-1: cx99 in fsn1 shall come"
    assert "- **Machine:** cx99 in fsn1, price not known" in note.details
    assert "- **For:** no pod in particular" in note.details


def test_a_removal_tells_machine_reason_and_price():
    note = note_on_removal(removal(reason="Empty", nodeName="m-1"), PRICES)
    assert note.summary == "m-1: cx33 in fsn1 shall go (Empty), 0.0136 EUR/h"
    assert "- **Node:** m-1" in note.details
    assert "- **Reason:** Empty\n" in note.details


def test_an_immediate_removal_without_a_node():
    note = note_on_removal(removal(reason="JoinTimeout", immediate=True), PRICES)
    assert "- **Node:** none has joined" in note.details
    assert "- **Reason:** JoinTimeout, without a cool-off" in note.details


@pytest.mark.parametrize(
    ("note", "item"),
    [
        (note_on_request, request(status={"phase": "Provisioning"})),
        (note_on_removal, removal(status={"phase": "Pending"})),
    ],
    ids=["request", "removal"],
)
def test_one_that_is_started_again_is_found_by_the_phase_that_it_has(note, item):
    assert note(item, PRICES).phase == item["status"]["phase"]


def test_however_long_the_names_are_a_note_stays_small():
    seats = [{"namespace": "n" * 63, "name": "p" * 253, "uid": str(number)} for number in range(1000)]
    longest = "a" * 62
    note = note_on_request(request(longest, serverType=longest, location=longest, reservedFor=seats), PRICES)
    assert len(note.summary) <= 200
    assert len(note.details) <= 1000
    assert "and 992 more" in note.details


@pytest.mark.parametrize(("note", "item"), [(note_on_request, request()), (note_on_removal, removal())])
def test_an_object_that_cannot_be_read_has_a_note_all_the_same(note, item):
    broken = item | {"spec": {"pool": "default"}}
    start_note = note(broken, PRICES)
    assert start_note.summary == "m-1: cannot be read"
    assert "serverType" in start_note.details or "serverName" in start_note.details


async def test_prices_are_read_from_all_classes_that_can_be_read():
    world = World(now=now, seed=1)
    await world.apply(node_class([machine("cx33", cpu=4, memory=8, price="0.0136", locations=("fsn1", "nbg1"))]))
    known = await listed_prices(world.ports(world.cluster, world.cluster))
    assert known == {
        ("KwokNodeClass", "default", "cx33", "fsn1"): "0.0136 EUR/h",
        ("KwokNodeClass", "default", "cx33", "nbg1"): "0.0136 EUR/h",
    }


async def test_without_a_definition_of_classes_there_are_no_prices():
    cluster = MemoryCluster(now)
    provider = KwokProvider(cluster, NAMESPACE, now)
    ports = Ports(cluster, cluster, {provider.node_classes.kind: provider}, now, "test", NAMESPACE)
    assert await listed_prices(ports) == {}
