"""Attached volumes are listed once for all machines that leave at the same time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from activities.ports.attachments import Attachments
from activities.ports.cluster import VOLUME_ATTACHMENTS
from activities.ports.errors import Unreachable
from simulator.apiserver.cluster import MemoryCluster

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(minutes=1)
NODES, EACH, LOOKS_A_SECOND = 1000, 10, 4


class Counted(MemoryCluster):
    """Counts lists; the first ones may get no answer."""

    def __init__(self):
        super().__init__(lambda: NOW)
        self.lists = 0
        self.silent = 0

    async def list(self, resource, **selectors):
        self.lists += 1
        # Others come while it is under way.
        await asyncio.sleep(0)
        if self.silent:
            self.silent -= 1
            raise Unreachable("away")
        return await super().list(resource, **selectors)

    async def attach(self, volume, node):
        spec = {"attacher": "csi.example", "nodeName": node, "source": {"persistentVolumeName": volume}}
        await self.create(VOLUME_ATTACHMENTS, {"metadata": {"name": volume}, "spec": spec})


def names(attachments):
    return [each["metadata"]["name"] for each in attachments]


async def test_a_thousand_machines_with_ten_thousand_volumes_share_few_lists():
    cluster, attachments = Counted(), Attachments()
    for number in range(NODES * EACH):
        await cluster.attach(f"v-{number:05d}", f"n-{number % NODES}")
    for look in range(NODES):
        now = NOW + timedelta(seconds=look / LOOKS_A_SECOND)
        attached = await attachments.on(cluster, f"n-{look}", since=LONG_AGO, now=now)
        assert len(attached) == EACH
    # In 250 s; a list for each look would have been a thousand.
    assert cluster.lists == NODES / LOOKS_A_SECOND / 2.5


async def test_those_that_look_at_once_wait_for_one_list():
    cluster, attachments = Counted(), Attachments()
    await cluster.attach("v", "n-1")
    looks = (attachments.on(cluster, f"n-{number}", since=LONG_AGO, now=NOW) for number in range(20))
    assert sum([len(attached) for attached in await asyncio.gather(*looks)]) == 1
    assert cluster.lists == 1


async def test_that_none_is_attached_is_believed_of_a_list_from_after_the_point_of_no_return():
    cluster, attachments = Counted(), Attachments()
    assert await attachments.on(cluster, "n-1", since=LONG_AGO, now=NOW) == ()
    await cluster.attach("v", "n-1")
    later = NOW + timedelta(seconds=1)
    assert names(await attachments.on(cluster, "n-1", since=later, now=later)) == ["v"]


@pytest.mark.parametrize("seconds", [2.5, 60, -1, -3600])
async def test_an_old_list_and_one_of_a_clock_that_was_ahead_is_made_anew(seconds):
    cluster, attachments = Counted(), Attachments()
    await cluster.attach("v", "n-1")
    assert names(await attachments.on(cluster, "n-1", since=LONG_AGO, now=NOW)) == ["v"]
    await cluster.delete(VOLUME_ATTACHMENTS, "v")
    now = NOW + timedelta(seconds=seconds)
    assert await attachments.on(cluster, "n-1", since=LONG_AGO, now=now) == ()


async def test_a_list_without_an_answer_is_nobodys():
    cluster, attachments = Counted(), Attachments()
    await cluster.attach("v", "n-1")
    cluster.silent = 1
    with pytest.raises(Unreachable):
        await attachments.on(cluster, "n-1", since=LONG_AGO, now=NOW)
    assert names(await attachments.on(cluster, "n-1", since=LONG_AGO, now=NOW)) == ["v"]
