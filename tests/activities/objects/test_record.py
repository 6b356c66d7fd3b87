"""The end of a request or removal: only of the very version that was read, and of no other object of its name."""

import pytest

from activities.objects.kinds import REMOVALS
from activities.objects.record import let_go, read_record
from activities.ports.cluster import NODE_REMOVAL_REQUESTS
from activities.ports.errors import Conflict
from api.keys import FINALIZER
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME

CANCEL = {"at": "2026-11-01T12:00:00Z", "by": "Ada", "reason": "Wanted again"}


@pytest.fixture(autouse=True)
async def removal(life):
    await life.add_removal({"phase": "Pending"})


async def test_it_goes_as_it_was_read(life):
    await let_go(life.cluster, await read_record(life.cluster, REMOVALS, NAME, life.uid))
    assert await life.removal() is None


async def test_one_that_has_changed_since_it_was_read_stays(life):
    """What was written in between, such as a cancel, has to be answered first."""
    record = await read_record(life.cluster, REMOVALS, NAME, life.uid)
    await life.set_status(NODE_REMOVAL_REQUESTS, {"phase": "Pending", "cancel": CANCEL})
    with pytest.raises(Conflict):
        await let_go(life.cluster, record)
    stays = await life.removal()
    assert "deletionTimestamp" not in stays["metadata"]
    assert stays["metadata"]["finalizers"] == [FINALIZER]


async def test_one_that_changes_after_its_deletion_is_held_until_it_is_read_again(life, monkeypatch):
    """Deleted by somebody else as it was read: only its finalizer is left to take, and that on condition too."""
    await MemoryCluster.delete(life.cluster, NODE_REMOVAL_REQUESTS, NAME)
    record = await read_record(life.cluster, REMOVALS, NAME, life.uid)
    await life.set_status(NODE_REMOVAL_REQUESTS, {"phase": "Pending", "cancel": CANCEL})
    with pytest.raises(Conflict):
        await let_go(life.cluster, record)
    assert (await life.removal())["metadata"]["finalizers"] == [FINALIZER]


async def test_a_namesake_keeps_its_finalizer(life, monkeypatch):
    """Between deletion and look another worker may end the object, and a person give its name again."""
    record = await read_record(life.cluster, REMOVALS, NAME, life.uid)
    real = life.cluster.delete

    async def delete(resource, name, **conditions):
        await real(resource, name, **conditions)
        await life.cluster.put(resource, name, "/metadata/finalizers", None)
        await MemoryCluster.create(life.cluster, resource, bodies.removal(NAME))

    monkeypatch.setattr(life.cluster, "delete", delete)
    await let_go(life.cluster, record)
    namesake = await life.removal()
    assert namesake["metadata"]["uid"] != life.uid
    assert namesake["metadata"]["finalizers"] == [FINALIZER]
