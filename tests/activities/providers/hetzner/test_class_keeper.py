"""HetznerNodeClasses are looked up when it is time, and only then."""

import logging
from datetime import timedelta

import pytest

from activities.ports.cluster import SECRETS
from activities.ports.errors import Forbidden, Unreachable
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.class_keeper import PERIOD
from tests.activities.providers.hetzner.scenes import NAMESPACE, START, TOKEN, KeeperScene, secret
from tests.builders import hetzner_node_class

CALLS = 6
"""Of a look at a class that names an image alone: three of the catalogue, one of the token, one per architecture."""
LOGGER = "activities.providers.hetzner.class_keeper"


@pytest.fixture
def scene():
    return KeeperScene()


async def test_a_new_class_is_looked_up_at_once_and_then_left_alone(scene):
    await scene.add_classes()
    assert await scene.calls_of() == CALLS
    node_class = await scene.node_class()
    assert (await scene.condition())["status"] == "True"
    assert node_class["status"]["readAt"] == "2026-11-01T12:00:00Z"
    scene.now += timedelta(seconds=10)
    assert await scene.calls_of() == 0
    assert await scene.node_class() == node_class


async def test_a_class_is_refreshed_after_ten_minutes_and_up_to_one_more(scene):
    await scene.add_classes(hetzner_node_class("first"), hetzner_node_class("second"), hetzner_node_class("third"))
    await scene.keeper.keep()
    assert await scene.calls_in(PERIOD - timedelta(seconds=1)) == 0
    due = {}
    while len(due) < 3:
        await scene.keeper.keep()
        for name in ("first", "second", "third"):
            if (await scene.node_class(name))["status"]["readAt"] != "2026-11-01T12:00:00Z":
                due.setdefault(name, scene.now - START)
        scene.now += timedelta(seconds=1)
    assert min(due.values()) >= PERIOD
    assert max(due.values()) <= PERIOD + timedelta(seconds=61)
    # Not all at once: the jitter comes from the names.
    assert len(set(due.values())) == 3


async def test_an_hour_of_a_class_takes_few_calls(scene):
    await scene.add_classes()
    # One look at the start and one in each 10 to 11 minutes, of 3600 calls that a project may make.
    assert await scene.calls_in(timedelta(hours=1)) == 6 * CALLS


async def test_a_new_price_is_in_the_status_after_the_period(scene, caplog):
    await scene.add_classes()
    await scene.keeper.keep()
    scene.cloud.set_price("cx23", "fsn1", "0.0200", "12.49")
    scene.now += PERIOD + timedelta(minutes=1)
    with caplog.at_level(logging.INFO, LOGGER):
        await scene.keeper.keep()
    cx23 = next(each for each in (await scene.node_class())["status"]["serverTypes"] if each["name"] == "cx23")
    assert {each["name"]: each["pricePerHour"] for each in cx23["locations"]}["fsn1"] == "0.02"
    assert caplog.messages == ["HetznerNodeClass default: cx23 in fsn1 costs 0.02 EUR per hour, not 0.0088 as before"]


async def test_a_change_of_the_spec_is_looked_up_with_the_next_pass(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    await scene.change("/spec/image", {"name": "debian-99"})
    assert await scene.calls_of() == CALLS
    condition = await scene.condition()
    assert (condition["status"], condition["reason"]) == ("False", "ImageNotFound")
    assert condition["observedGeneration"] == (await scene.node_class())["metadata"]["generation"] == 2
    await scene.change("/spec/image", {"name": "debian-13"})
    await scene.keeper.keep()
    assert (await scene.condition())["status"] == "True"


async def test_a_change_of_the_token_is_noticed_with_the_next_pass(scene):
    await scene.add_classes(token="w" * 64)
    assert await scene.calls_of() == 1
    assert (await scene.condition())["reason"] == "InvalidToken"
    scene.now += timedelta(seconds=1)
    await scene.change_token(TOKEN)
    assert await scene.calls_of() == CALLS
    assert (await scene.condition())["status"] == "True"
    await scene.change_token("v" * 64)
    # That of a class which is well is read each half minute. Source: docs/hetzner.md, tokenSecretRef.
    scene.now += timedelta(seconds=29)
    assert await scene.calls_of() == 0
    scene.now += timedelta(seconds=1)
    assert await scene.calls_of() == 1
    assert (await scene.condition())["reason"] == "InvalidToken"


async def test_a_spec_that_names_another_secret_is_looked_up_by_its_token_at_once(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    await scene.change("/spec/tokenSecretRef", await scene.add_token("v" * 64, name="other"))
    await scene.keeper.keep()
    assert (await scene.condition())["reason"] == "InvalidToken"


async def test_a_class_that_is_well_takes_a_read_of_its_secret_each_half_minute_and_no_other(scene, monkeypatch):
    await scene.add_classes()
    copy, asked = Copy(scene.cluster), []
    keeper = scene.another_worker(classes=copy)
    await keeper.keep()
    for verb in ("get", "list"):
        real = getattr(scene.cluster, verb)
        monkeypatch.setattr(scene.cluster, verb, noted(asked, verb, real))
    await scene.calls_in(timedelta(minutes=5), keeper)
    # The first was read before, the eleventh would be at the end.
    assert asked == [("get", "secrets")] * 9


class Copy:
    """What a watch cache has: reading it is no call."""

    def __init__(self, cluster):
        self.list = cluster.list
        self.get = cluster.get


def noted(asked, verb, real):
    async def call(resource, *given, **options):
        asked.append((verb, resource.plural))
        return await real(resource, *given, **options)

    return call


async def test_a_secret_that_may_not_be_read_is_told_with_the_role_that_grants_it(scene, monkeypatch):
    read = scene.cluster.get
    account = "system:serviceaccount:growth-system:growth"

    async def forbidden(resource, name, **where):
        if resource is SECRETS:
            raise Forbidden("403", user=account, verb="get", resource="secrets", advice="")
        return await read(resource, name, **where)

    with monkeypatch.context() as patched:
        patched.setattr(scene.cluster, "get", forbidden)
        await scene.add_classes()
        await scene.keeper.keep()
        condition = await scene.condition()
    assert (condition["status"], condition["reason"]) == ("False", "InvalidToken")
    assert condition["message"] == (
        f"spec.tokenSecretRef: {account} may not get Secret growth-system/hcloud: grant that by a Role in namespace "
        "growth-system with resources: [secrets], resourceNames: [hcloud] and verbs: [get], bound to that account, "
        "as deploy/hetzner/k3s.yaml does"
    )


async def test_a_secret_that_comes_later_is_noticed_and_until_then_no_call_is_made(scene):
    await scene.add_classes(token=None)
    assert await scene.calls_in(timedelta(minutes=5)) == 0
    condition = await scene.condition()
    assert (condition["status"], condition["reason"]) == ("False", "InvalidToken")
    assert condition["message"].startswith(
        "spec.tokenSecretRef: Secret growth-system/hcloud, key token does not exist: create it"
    )
    await scene.cluster.create(SECRETS, secret(token=TOKEN), namespace=NAMESPACE)
    assert await scene.calls_of() == CALLS
    assert (await scene.condition())["status"] == "True"


async def test_a_refused_token_is_tried_ever_less_often(scene):
    await scene.add_classes(token="w" * 64)
    tried = []
    for _ in range(3600):
        if await scene.calls_of():
            tried.append((scene.now - START).total_seconds())
        scene.now += timedelta(seconds=1)
    # 10 s, then twice as long each time, at most ten minutes.
    assert tried == [0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030]


async def test_another_wrong_token_is_tried_as_soon_as_the_first_one_was(scene):
    await scene.add_classes(token="w" * 64)
    await scene.calls_in(timedelta(minutes=20))
    await scene.change_token("v" * 64)
    assert await scene.calls_of() == 1
    assert await scene.calls_in(timedelta(seconds=31)) == 2


async def test_a_fault_in_the_project_is_seen_to_be_mended_soon_after_the_change(scene):
    await scene.add_classes(hetzner_node_class(firewalls=["web"]))
    await scene.keeper.keep()
    assert (await scene.condition())["reason"] == "FirewallNotFound"
    scene.cloud.add_firewall("web")
    await scene.calls_in(timedelta(seconds=11))
    assert (await scene.condition())["status"] == "True"


async def test_a_failing_catalogue_keeps_the_class_ready_and_is_tried_ever_less_often(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    before = (await scene.node_class())["status"]
    scene.fail("read_catalogue", times=None, status=503, code="unavailable")
    scene.now += PERIOD + timedelta(minutes=1)
    # 0, 10, 30, 70, 150 and 310 seconds, one call each.
    assert await scene.calls_in(timedelta(seconds=600)) == 6
    after = (await scene.node_class())["status"]
    assert [after[key] for key in ("serverTypes", "readAt", "resolved")] == [
        before[key] for key in ("serverTypes", "readAt", "resolved")
    ]
    assert (await scene.condition())["status"] == "True"
    assert (await scene.condition("CatalogueRead"))["status"] == "False"
    scene.cloud.faults.clear()
    assert await scene.calls_in(timedelta(seconds=60)) == CALLS
    assert (await scene.condition("CatalogueRead"))["status"] == "True"


async def test_what_another_worker_has_read_is_not_read_again(scene):
    await scene.add_classes()
    other = scene.another_worker()
    assert await scene.calls_of() == CALLS
    assert await scene.calls_of(other) == 0
    scene.now += PERIOD + timedelta(minutes=1)
    assert await scene.calls_of(other) == CALLS
    assert await scene.calls_of() == 0


async def test_a_worker_that_starts_reads_nothing_of_a_class_that_is_fresh(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    scene.now += timedelta(minutes=9)
    assert await scene.calls_of(scene.another_worker()) == 0


async def test_one_class_that_fails_stops_no_other(scene, monkeypatch, caplog):
    await scene.add_classes(hetzner_node_class("a"), hetzner_node_class("b"), hetzner_node_class("c"))
    await scene.change("/spec/userData", {"secretKeyRef": {"namespace": "x", "name": "b", "key": "k"}}, name="b")
    await scene.change("/spec/userData", {"secretKeyRef": {"namespace": "x", "name": "c", "key": "k"}}, name="c")
    get = scene.cluster.get

    async def get_or_fail(resource, name, *, namespace=None):
        if namespace == "x":
            raise {"b": Unreachable("no answer"), "c": RuntimeError("a bug")}[name]
        return await get(resource, name, namespace=namespace)

    monkeypatch.setattr(scene.cluster, "get", get_or_fail)
    assert 0 < await scene.keeper.keep() <= 10
    assert (await scene.condition(name="a"))["status"] == "True"
    assert "status" not in await scene.node_class("b")
    assert "HetznerNodeClass b was not looked up: no answer" in caplog.messages
    assert any(record.exc_info and "HetznerNodeClass c" in record.message for record in caplog.records)
    # Also an error that nobody foresaw leads to a pause.
    assert await scene.calls_of() == 0


async def test_a_class_that_cannot_be_read_is_passed_over(scene):
    await scene.add_classes(hetzner_node_class("bad"), hetzner_node_class("good"))
    await scene.change("/spec", {"image": 3}, name="bad")
    assert await scene.calls_of() == CALLS
    assert "status" not in await scene.node_class("bad")


async def test_a_class_that_is_gone_is_forgotten(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    await scene.cluster.delete(HETZNER_NODE_CLASSES, "default")
    assert await scene.calls_in(timedelta(minutes=20)) == 0
    await scene.cluster.create(HETZNER_NODE_CLASSES, hetzner_node_class())
    assert await scene.calls_of() == CALLS
