"""What was looked up is written into the status of HetznerNodeClasses, beside what others write there."""

import logging
from datetime import timedelta

import pytest

from activities.ports.errors import Conflict, Unreachable
from activities.providers.hetzner.classes.check import OWN_CONDITIONS
from tests.activities.providers.hetzner.scenes import TOKEN, KeeperScene
from tests.builders import hetzner_node_class

CALLS = 6
"""Of a look at a class that names an image alone: three of the catalogue, one of the token, one per architecture."""
LOGGER = "activities.providers.hetzner.class_keeper"


@pytest.fixture
def scene():
    return KeeperScene()


async def test_a_refusal_that_is_no_news_is_not_written(scene):
    await scene.add_classes(token="w" * 64)
    await scene.keeper.keep()
    before = await scene.node_class()
    assert await scene.calls_in(timedelta(minutes=5)) == 4
    assert await scene.node_class() == before


async def test_what_others_write_meanwhile_is_kept(scene, monkeypatch):
    await scene.add_classes()
    learned = [{"serverType": "cx23", "image": "1", "allocatable": {"cpu": "1"}, "lastSeenAt": "2026-11-01T11:00:00Z"}]
    other = {"type": "Other", "status": "True", "reason": "Other", "lastTransitionTime": "2026-11-01T11:00:00Z"}
    patch = scene.cluster.patch
    writes = []

    async def patch_after_another(resource, name, operations, **options):
        if not writes:
            writes.append(name)
            await scene.change("/status", {"learned": learned, "conditions": [other]}, subresource="status")
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(scene.cluster, "patch", patch_after_another)
    await scene.keeper.keep()
    status = (await scene.node_class())["status"]
    assert writes == ["default"]
    assert status["learned"] == learned
    assert [each["type"] for each in status["conditions"]] == ["Other", *OWN_CONDITIONS]
    assert status["serverTypes"]


async def test_a_class_that_another_worker_has_looked_up_meanwhile_is_not_written(scene, monkeypatch):
    await scene.add_classes()
    patch, others = scene.cluster.patch, []

    async def patch_after_another(resource, name, operations, **options):
        if not others:
            others.append(scene.another_worker())
            scene.now += timedelta(seconds=1)
            await others[0].keep()
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(scene.cluster, "patch", patch_after_another)
    await scene.keeper.keep()
    assert others
    assert (await scene.node_class())["status"]["readAt"] == "2026-11-01T12:00:01Z"


async def test_a_change_of_the_spec_during_the_look_is_looked_up_anew(scene, monkeypatch):
    await scene.add_classes()
    patch, changes = scene.cluster.patch, []

    async def patch_after_a_change(resource, name, operations, **options):
        if options.get("subresource") and not changes:
            changes.append(name)
            await scene.change("/spec/image", {"name": "debian-99"})
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(scene.cluster, "patch", patch_after_a_change)
    await scene.keeper.keep()
    assert changes
    assert "conditions" not in (await scene.node_class()).get("status", {})
    await scene.keeper.keep()
    assert (await scene.condition())["reason"] == "ImageNotFound"


async def test_nothing_is_written_when_nothing_has_changed(scene, monkeypatch):
    await scene.add_classes(
        hetzner_node_class(), hetzner_node_class("refused", tokenSecretRef={"namespace": "x", "name": "y"})
    )
    await scene.keeper.keep()
    writes = []
    patch = scene.cluster.patch

    async def note(resource, name, operations, **options):
        writes.append(name)
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(scene.cluster, "patch", note)
    await scene.calls_in(timedelta(minutes=12))
    # The time of the reading is a change; that a Secret is still missing is none.
    assert writes == ["default"]


async def test_a_status_that_cannot_be_written_does_not_use_up_the_calls(scene, monkeypatch):
    await scene.add_classes()

    async def refuse(*_, **__):
        raise Unreachable("no answer")

    monkeypatch.setattr(scene.cluster, "patch", refuse)
    # 0, 10, 30, 70, 150 and 310 seconds.
    assert await scene.calls_in(timedelta(seconds=600)) == 6 * CALLS


async def test_a_class_that_keeps_changing_is_no_error(scene, monkeypatch, caplog):
    await scene.add_classes()

    async def refuse(*_, **__):
        raise Conflict("changed")

    monkeypatch.setattr(scene.cluster, "patch", refuse)
    await scene.keeper.keep()
    assert caplog.messages == []


async def test_each_change_is_told_once(scene, caplog):
    await scene.add_classes(hetzner_node_class(sshKeys=["eve"]))
    with caplog.at_level(logging.INFO, LOGGER):
        await scene.keeper.keep()
        scene.now += timedelta(minutes=11)
        await scene.keeper.keep()
    records = [record for record in caplog.records if record.name == LOGGER]
    assert [(record.levelname, record.message) for record in records] == [
        (
            "INFO",
            "HetznerNodeClass default: Ready is True (Ready): it offers servers in ash, fsn1, hel1, hil, nbg1, sin",
        ),
        ("INFO", "HetznerNodeClass default: CatalogueRead is True (CatalogueRead)"),
        ("INFO", "HetznerNodeClass default: Images is True (Images)"),
        (
            "WARNING",
            (
                "HetznerNodeClass default: SSHKeys is False (SSHKeyNotFound): "
                "spec.sshKeys: the project has no SSH key eve: servers are made without it"
            ),
        ),
        ("INFO", "HetznerNodeClass default: UserDataComplete is True (UserDataComplete)"),
    ]


async def test_what_a_text_lacks_is_logged_as_a_warning_and_once(scene, caplog):
    await scene.add_classes(hetzner_node_class(userData={"template": "kubelet --node-labels=x\n# {{ node.taints }}"}))
    with caplog.at_level(logging.INFO, LOGGER):
        await scene.keeper.keep()
        scene.now += timedelta(minutes=11)
        await scene.keeper.keep()
    (record,) = (record for record in caplog.records if "UserDataComplete" in record.message)
    assert record.levelname == "WARNING"
    assert "UserDataComplete is False (TaintMissing): spec.userData: only a comment has the taint" in record.message


async def test_a_class_that_an_earlier_version_looked_up_gets_the_condition_and_stays_ready(scene):
    await scene.add_classes()
    await scene.keeper.keep()
    before = (await scene.node_class())["status"]
    await scene.change(
        "/status",
        {**before, "conditions": [each for each in before["conditions"] if each["type"] != "UserDataComplete"]},
        subresource="status",
    )
    scene.now += timedelta(minutes=11)
    await scene.another_worker().keep()
    assert (await scene.condition("UserDataComplete"))["status"] == "True"
    assert (await scene.condition())["status"] == "True"


async def test_no_token_is_written_or_logged(scene, caplog):
    with caplog.at_level(logging.DEBUG):
        await scene.add_classes()
        await scene.keeper.keep()
        scene.cloud.set_rate_limit(0)
        scene.now += timedelta(minutes=11)
        await scene.keeper.keep()
    assert (await scene.condition("CatalogueRead"))["reason"] == "RateLimited"
    half = TOKEN[: len(TOKEN) // 2]
    assert half not in caplog.text
    assert half not in str(await scene.node_class())
