"""What was looked up is written into the status of HetznerNodeClasses, beside what others write there."""

import logging
from datetime import timedelta

import pytest

from activities.ports.errors import Conflict, Unreachable
from tests.activities.providers.hetzner.house import CALLS, LOGGER, House
from tests.activities.providers.hetzner.yard import TOKEN, hetzner_class


@pytest.fixture
def house():
    return House()


async def test_a_refusal_that_is_no_news_is_not_written(house):
    await house.open(token="w" * 64)
    await house.keeper.keep()
    before = await house.node_class()
    assert await house.calls_in(timedelta(minutes=5)) == 4
    assert await house.node_class() == before


async def test_what_others_write_meanwhile_is_kept(house, monkeypatch):
    await house.open()
    learned = [{"serverType": "cx23", "image": "1", "allocatable": {"cpu": "1"}, "lastSeenAt": "2026-11-01T11:00:00Z"}]
    other = {"type": "Other", "status": "True", "reason": "Other", "lastTransitionTime": "2026-11-01T11:00:00Z"}
    patch = house.cluster.patch
    writes = []

    async def patch_after_another(resource, name, operations, **options):
        if not writes:
            writes.append(name)
            await house.change("/status", {"learned": learned, "conditions": [other]}, subresource="status")
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(house.cluster, "patch", patch_after_another)
    await house.keeper.keep()
    status = (await house.node_class())["status"]
    assert writes == ["default"]
    assert status["learned"] == learned
    assert [each["type"] for each in status["conditions"]] == ["Other", "Ready", "CatalogueRead", "Images", "SSHKeys"]
    assert status["serverTypes"]


async def test_a_class_that_another_worker_has_looked_up_meanwhile_is_not_written(house, monkeypatch):
    await house.open()
    patch, others = house.cluster.patch, []

    async def patch_after_another(resource, name, operations, **options):
        if not others:
            others.append(house.another_worker())
            house.now += timedelta(seconds=1)
            await others[0].keep()
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(house.cluster, "patch", patch_after_another)
    await house.keeper.keep()
    assert others
    assert (await house.node_class())["status"]["readAt"] == "2026-11-01T12:00:01Z"


async def test_a_change_of_the_spec_during_the_look_is_looked_up_anew(house, monkeypatch):
    await house.open()
    patch, changes = house.cluster.patch, []

    async def patch_after_a_change(resource, name, operations, **options):
        if options.get("subresource") and not changes:
            changes.append(name)
            await house.change("/spec/image", {"name": "debian-99"})
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(house.cluster, "patch", patch_after_a_change)
    await house.keeper.keep()
    assert changes
    assert "conditions" not in (await house.node_class()).get("status", {})
    await house.keeper.keep()
    assert (await house.told())["reason"] == "ImageNotFound"


async def test_nothing_is_written_when_nothing_has_changed(house, monkeypatch):
    await house.open(hetzner_class(), hetzner_class("refused", tokenSecretRef={"namespace": "x", "name": "y"}))
    await house.keeper.keep()
    writes = []
    patch = house.cluster.patch

    async def note(resource, name, operations, **options):
        writes.append(name)
        return await patch(resource, name, operations, **options)

    monkeypatch.setattr(house.cluster, "patch", note)
    await house.calls_in(timedelta(minutes=12))
    # The time of the reading is a change; that a Secret is still missing is none.
    assert writes == ["default"]


async def test_a_status_that_cannot_be_written_does_not_use_up_the_calls(house, monkeypatch):
    await house.open()

    async def refuse(*_, **__):
        raise Unreachable("no answer")

    monkeypatch.setattr(house.cluster, "patch", refuse)
    # 0, 10, 30, 70, 150 and 310 seconds.
    assert await house.calls_in(timedelta(seconds=600)) == 6 * CALLS


async def test_a_class_that_keeps_changing_is_no_error(house, monkeypatch, caplog):
    await house.open()

    async def refuse(*_, **__):
        raise Conflict("changed")

    monkeypatch.setattr(house.cluster, "patch", refuse)
    await house.keeper.keep()
    assert caplog.messages == []


async def test_each_change_is_told_once(house, caplog):
    await house.open(hetzner_class(sshKeys=["eve"]))
    with caplog.at_level(logging.INFO, LOGGER):
        await house.keeper.keep()
        house.now += timedelta(minutes=11)
        await house.keeper.keep()
    ours = [record for record in caplog.records if record.name == LOGGER]
    assert [(record.levelname, record.message) for record in ours] == [
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
    ]


async def test_no_token_is_written_or_logged(house, caplog):
    with caplog.at_level(logging.DEBUG):
        await house.open()
        await house.keeper.keep()
        house.cloud.set_rate_limit(0)
        house.now += timedelta(minutes=11)
        await house.keeper.keep()
    assert (await house.told("CatalogueRead"))["reason"] == "RateLimited"
    half = TOKEN[: len(TOKEN) // 2]
    assert half not in caplog.text
    assert half not in str(await house.node_class())
