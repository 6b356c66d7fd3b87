"""Sweeps in a project that two clusters of one name share: own servers without a uid are marked, others stay."""

import pytest

from activities.garbage.adopt import MARKED_AT_ONCE
from activities.ports.errors import RateLimited, Unreachable
from planner.lifecycle.garbage import Garbage
from tests.activities.yards import NAME, Yard

UID = "growth.dev/cluster-uid"
OURS = {UID: "ours"}
THEIRS = {UID: "theirs"}
UNREGISTERED = {"key": "growth.dev/unregistered", "effect": "NoSchedule"}


@pytest.fixture
async def yard():
    made = Yard(uid="ours")
    await made.install()
    return made


async def marks(yard):
    return {server.name: server.labels.get(UID) for server in await yard.provider.list(yard.name)}


async def messages(yard):
    return {reason for kind, _, reason in await yard.event_reasons() if kind == "Namespace"}


async def test_an_orphan_with_our_uid_goes(yard):
    await yard.server(**OURS)
    assert await yard.sweep() == [Garbage.ORPHAN]


async def test_a_server_of_another_cluster_of_our_name_stays_and_is_told(yard):
    await yard.server(**THEIRS)
    assert await yard.sweep() == []
    assert await yard.removals() == {}
    assert await messages(yard) == {"ClusterNameTaken"}


async def test_a_server_of_an_earlier_version_that_nothing_proves_to_be_ours_stays_and_is_told(yard):
    await yard.server()
    assert await yard.sweep() == []
    assert await yard.removals() == {}
    assert await marks(yard) == {NAME: None}
    assert await messages(yard) == {"ServersUnproven"}


async def test_a_young_one_may_be_an_earlier_workers_and_is_not_told_yet(yard):
    await yard.server(age=yard.now() - yard.now())
    assert await yard.sweep() == []
    assert await messages(yard) == set()


async def test_one_whose_request_is_here_is_marked_and_known_when_that_is_gone(yard):
    uid = await yard.request()
    await yard.server(uid=uid)
    assert await yard.sweep() == []
    assert await marks(yard) == {NAME: "ours"}


async def test_one_whose_node_is_here_is_marked(yard):
    await yard.server()
    await yard.node()
    assert await yard.sweep() == []
    assert await marks(yard) == {NAME: "ours"}


async def test_the_request_or_node_of_another_machine_is_no_proof(yard):
    await yard.server(uid="theirs")
    await yard.request()
    await yard.node("default-a2", uid="another")
    await yard.sweep()
    assert await marks(yard) == {NAME: None}


async def test_servers_are_marked_some_at_a_time(yard):
    for number in range(MARKED_AT_ONCE + 3):
        await yard.server(f"m-{number}", uid=f"u-{number}")
        await yard.node(f"m-{number}", uid=f"u-{number}")
    await yard.healer.heal()
    assert sum(uid == "ours" for uid in (await marks(yard)).values()) == MARKED_AT_ONCE
    await yard.healer.heal()
    assert set((await marks(yard)).values()) == {"ours"}


@pytest.mark.parametrize("error", [RateLimited("busy", 5.0), Unreachable("away")])
async def test_what_cannot_be_marked_now_is_marked_later(yard, error, monkeypatch):
    await yard.server()
    await yard.node()

    async def refuse(*_given):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(yard.provider, "label", refuse)
        assert await yard.sweep() == []
    assert await marks(yard) == {NAME: None}
    await yard.sweep()
    assert await marks(yard) == {NAME: "ours"}


async def test_a_node_that_joined_late_proves_its_server_of_an_earlier_version(yard):
    await yard.server()
    await yard.node(NAME, UNREGISTERED)
    assert await yard.sweep() == [Garbage.STRAY]


@pytest.mark.parametrize("labels", [THEIRS, {}])
async def test_a_node_with_the_startup_taint_is_not_opened_for_another_clusters_server(yard, labels):
    """Nor is that server deleted: the Node bears its name, and no mark of it."""
    await yard.server(uid="theirs", **labels)
    await yard.node(NAME, UNREGISTERED, uid="mine")
    await yard.sweep()
    assert await yard.removals() == {}
    assert NAME in await marks(yard)


async def test_a_worker_that_does_not_know_its_uid_goes_by_the_name_as_before():
    yard = Yard()
    await yard.install()
    await yard.server()
    assert await yard.sweep() == [Garbage.ORPHAN]
