"""HetznerNodeClasses are looked up when it is time, and only then."""

import logging
from datetime import timedelta

import pytest

from activities.ports.cluster import SECRETS
from activities.ports.errors import Unreachable
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.class_keeper import PERIOD
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.house import CALLS, LOGGER, House
from tests.activities.providers.hetzner.yard import NAMESPACE, START, TOKEN, hetzner_class, secret


@pytest.fixture
def house():
    return House()


async def test_a_new_class_is_looked_up_at_once_and_then_left_alone(house):
    await house.open()
    assert await house.calls_of() == CALLS
    node_class = await house.node_class()
    assert (await house.told())["status"] == "True"
    assert node_class["status"]["readAt"] == "2026-11-01T12:00:00Z"
    house.now += timedelta(seconds=10)
    assert await house.calls_of() == 0
    assert await house.node_class() == node_class


async def test_a_class_is_refreshed_after_ten_minutes_and_up_to_one_more(house):
    await house.open(hetzner_class("first"), hetzner_class("second"), hetzner_class("third"))
    await house.keeper.keep()
    assert await house.calls_in(PERIOD - timedelta(seconds=1)) == 0
    due = {}
    while len(due) < 3:
        await house.keeper.keep()
        for name in ("first", "second", "third"):
            if (await house.node_class(name))["status"]["readAt"] != "2026-11-01T12:00:00Z":
                due.setdefault(name, house.now - START)
        house.now += timedelta(seconds=1)
    assert min(due.values()) >= PERIOD
    assert max(due.values()) <= PERIOD + timedelta(seconds=61)
    # Not all at once: the jitter comes from the names.
    assert len(set(due.values())) == 3


async def test_an_hour_of_a_class_takes_few_calls(house):
    await house.open()
    # One look at the start and one in each 10 to 11 minutes, of 3600 calls that a project may make.
    assert await house.calls_in(timedelta(hours=1)) == 6 * CALLS


async def test_a_new_price_is_in_the_status_after_the_period(house, caplog):
    await house.open()
    await house.keeper.keep()
    house.cloud.set_price("cx23", "fsn1", "0.0200", "12.49")
    house.now += PERIOD + timedelta(minutes=1)
    with caplog.at_level(logging.INFO, LOGGER):
        await house.keeper.keep()
    cx23 = next(each for each in (await house.node_class())["status"]["serverTypes"] if each["name"] == "cx23")
    assert {each["name"]: each["pricePerHour"] for each in cx23["locations"]}["fsn1"] == "0.02"
    assert caplog.messages == ["HetznerNodeClass default: cx23 in fsn1 costs 0.02 EUR per hour, not 0.0088 as before"]


async def test_a_change_of_the_spec_is_looked_up_with_the_next_pass(house):
    await house.open()
    await house.keeper.keep()
    await house.change("/spec/image", {"name": "debian-99"})
    assert await house.calls_of() == CALLS
    told = await house.told()
    assert (told["status"], told["reason"]) == ("False", "ImageNotFound")
    assert told["observedGeneration"] == (await house.node_class())["metadata"]["generation"] == 2
    await house.change("/spec/image", {"name": "debian-13"})
    await house.keeper.keep()
    assert (await house.told())["status"] == "True"


async def test_a_change_of_the_token_is_noticed_with_the_next_pass(house):
    await house.open(token="w" * 64)
    assert await house.calls_of() == 1
    assert (await house.told())["reason"] == "InvalidToken"
    house.now += timedelta(seconds=1)
    await house.change_token(TOKEN)
    assert await house.calls_of() == CALLS
    assert (await house.told())["status"] == "True"
    house.now += timedelta(seconds=1)
    await house.change_token("v" * 64)
    assert await house.calls_of() == 1
    assert (await house.told())["reason"] == "InvalidToken"


async def test_a_secret_that_comes_later_is_noticed_and_until_then_no_call_is_made(house):
    await house.open(token=None)
    assert await house.calls_in(timedelta(minutes=5)) == 0
    told = await house.told()
    assert (told["status"], told["reason"]) == ("False", "InvalidToken")
    assert told["message"].startswith(
        "spec.tokenSecretRef: Secret growth-system/hcloud, key token does not exist: create it"
    )
    await house.cluster.create(SECRETS, secret(token=TOKEN), namespace=NAMESPACE)
    assert await house.calls_of() == CALLS
    assert (await house.told())["status"] == "True"


async def test_a_refused_token_is_tried_ever_less_often(house):
    await house.open(token="w" * 64)
    tried = []
    for _ in range(3600):
        if await house.calls_of():
            tried.append((house.now - START).total_seconds())
        house.now += timedelta(seconds=1)
    # 10 s, then twice as long each time, at most ten minutes.
    assert tried == [0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030]


async def test_another_wrong_token_is_tried_as_soon_as_the_first_one_was(house):
    await house.open(token="w" * 64)
    await house.calls_in(timedelta(minutes=20))
    await house.change_token("v" * 64)
    assert await house.calls_of() == 1
    assert await house.calls_in(timedelta(seconds=31)) == 2


async def test_a_fault_in_the_project_is_seen_to_be_mended_soon_after_the_change(house):
    await house.open(hetzner_class(firewalls=["web"]))
    await house.keeper.keep()
    assert (await house.told())["reason"] == "FirewallNotFound"
    house.cloud.add_firewall("web")
    await house.calls_in(timedelta(seconds=11))
    assert (await house.told())["status"] == "True"


async def test_a_failing_catalogue_keeps_the_class_ready_and_is_tried_ever_less_often(house):
    await house.open()
    await house.keeper.keep()
    before = (await house.node_class())["status"]
    house.cloud.faults.append(Fault("read_catalogue", "error", times=None, status=503, code="unavailable"))
    house.now += PERIOD + timedelta(minutes=1)
    # 0, 10, 30, 70, 150 and 310 seconds, one call each.
    assert await house.calls_in(timedelta(seconds=600)) == 6
    after = (await house.node_class())["status"]
    assert [after[key] for key in ("serverTypes", "readAt", "resolved")] == [
        before[key] for key in ("serverTypes", "readAt", "resolved")
    ]
    assert (await house.told())["status"] == "True"
    assert (await house.told("CatalogueRead"))["status"] == "False"
    house.cloud.faults.clear()
    assert await house.calls_in(timedelta(seconds=60)) == CALLS
    assert (await house.told("CatalogueRead"))["status"] == "True"


async def test_what_another_worker_has_read_is_not_read_again(house):
    await house.open()
    other = house.another_worker()
    assert await house.calls_of() == CALLS
    assert await house.calls_of(other) == 0
    house.now += PERIOD + timedelta(minutes=1)
    assert await house.calls_of(other) == CALLS
    assert await house.calls_of() == 0


async def test_a_worker_that_starts_reads_nothing_of_a_class_that_is_fresh(house):
    await house.open()
    await house.keeper.keep()
    house.now += timedelta(minutes=9)
    assert await house.calls_of(house.another_worker()) == 0


async def test_one_class_that_fails_stops_no_other(house, monkeypatch, caplog):
    await house.open(hetzner_class("a"), hetzner_class("b"), hetzner_class("c"))
    await house.change("/spec/userData", {"secretKeyRef": {"namespace": "x", "name": "b", "key": "k"}}, name="b")
    await house.change("/spec/userData", {"secretKeyRef": {"namespace": "x", "name": "c", "key": "k"}}, name="c")
    get = house.cluster.get

    async def get_or_fail(resource, name, *, namespace=None):
        if namespace == "x":
            raise {"b": Unreachable("no answer"), "c": RuntimeError("a bug")}[name]
        return await get(resource, name, namespace=namespace)

    monkeypatch.setattr(house.cluster, "get", get_or_fail)
    assert 0 < await house.keeper.keep() <= 10
    assert (await house.told(name="a"))["status"] == "True"
    assert "status" not in await house.node_class("b")
    assert "HetznerNodeClass b was not looked up: no answer" in caplog.messages
    assert any(record.exc_info and "HetznerNodeClass c" in record.message for record in caplog.records)
    # Also an error that nobody foresaw leads to a pause.
    assert await house.calls_of() == 0


async def test_a_class_that_cannot_be_read_is_passed_over(house):
    await house.open(hetzner_class("bad"), hetzner_class("good"))
    await house.change("/spec", {"image": 3}, name="bad")
    assert await house.calls_of() == CALLS
    assert "status" not in await house.node_class("bad")


async def test_a_class_that_is_gone_is_forgotten(house):
    await house.open()
    await house.keeper.keep()
    await house.cluster.delete(HETZNER_NODE_CLASSES, "default")
    assert await house.calls_in(timedelta(minutes=20)) == 0
    await house.cluster.create(HETZNER_NODE_CLASSES, hetzner_class())
    assert await house.calls_of() == CALLS
