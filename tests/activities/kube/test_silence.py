"""A watch in which nothing comes: quiet, cut off without a word, or at a version that the API server has lost."""

import asyncio

import pytest

from activities.kube import cache as caching
from activities.ports.cluster import CONFIG_MAPS, WatchEvent
from activities.ports.errors import Unreachable
from tests.activities.kube.test_cache import change, create, delete, following, memory, name, names, until

__all__ = ["memory"]

SILENCE = 0.05


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(caching, "_SILENCE_SECONDS", SILENCE)


class Streams:
    """A cluster whose watches give what a test puts into them, and whose calls are counted."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.versions = []
        """At which watches began."""
        self.lists = 0
        self.events = asyncio.Queue()
        self.list_fails = None

    async def list(self, resource):
        self.lists += 1
        if self.list_fails is not None:
            raise self.list_fails
        return await self.cluster.list(resource)

    async def watch(self, _resource, *, resource_version):
        self.versions.append(resource_version)
        while (event := await self.events.get()) is not None:
            yield event


@pytest.fixture
def streams(memory):
    return Streams(memory)


async def test_a_list_after_a_silence_tells_what_a_dead_connection_did_not(streams):
    async with following(streams) as (cache, notices):
        await cache.wait_until_synced()
        await create(streams.cluster, "a")
        await until(lambda: streams.lists == 2)
        await until(lambda: notices)
        assert await names(cache) == ["a"]
        assert [(kind, key) for kind, key, _ in notices] == [("ADDED", "a")]
        # The watch may be well: it goes on.
        assert len(streams.versions) == 1


async def test_a_second_silence_ends_the_watch_and_the_next_one_begins_at_the_list(streams):
    async with following(streams) as (cache, _):
        await cache.wait_until_synced()
        await create(streams.cluster, "a")
        await until(lambda: len(streams.versions) == 2)
        assert streams.lists == 2
        assert streams.versions[1] == (await cache.list(CONFIG_MAPS)).resource_version != streams.versions[0]


async def test_whatever_comes_ends_a_silence(streams):
    async with following(streams) as (cache, _):
        await cache.wait_until_synced()
        for version in range(100, 105):
            await asyncio.sleep(SILENCE / 2)
            bookmark = {"kind": "ConfigMap", "metadata": {"resourceVersion": str(version)}}
            streams.events.put_nowait(WatchEvent("BOOKMARK", bookmark))
        await until(streams.events.empty)
        assert (streams.lists, len(streams.versions)) == (1, 1)


async def test_what_was_on_its_way_while_the_list_was_made_changes_nothing(streams):
    async with following(streams) as (cache, notices):
        await cache.wait_until_synced()
        created = await create(streams.cluster, "a", value="1")
        changed = await change(streams.cluster, "a", value="2")
        gone = await create(streams.cluster, "b")
        await delete(streams.cluster, "b")
        await until(lambda: streams.lists == 2)
        for event in (WatchEvent("ADDED", created), WatchEvent("MODIFIED", changed), WatchEvent("ADDED", gone)):
            streams.events.put_nowait(event)
        later = await create(streams.cluster, "c")
        streams.events.put_nowait(WatchEvent("ADDED", later))
        await until(lambda: len(notices) == 2)
        assert (await cache.list(CONFIG_MAPS)).items == [changed, later]
        assert [(kind, key) for kind, key, _ in notices] == [("ADDED", "a"), ("ADDED", "c")]


async def test_a_watch_at_a_version_that_the_api_server_has_lost_ends_with_the_first_silence(streams):
    bookmark = WatchEvent("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "900"}})
    async with following(streams) as (cache, _):
        await cache.wait_until_synced()
        streams.events.put_nowait(bookmark)
        await until(lambda: streams.lists == 2)
        # The store was restored: its versions begin anew, and nothing that comes is above 900 for long.
        await until(lambda: len(streams.versions) == 2)
        assert streams.lists == 2
        assert int(streams.versions[1]) < 900


async def test_a_list_that_fails_after_a_silence_is_an_outage(streams):
    async with following(streams) as (cache, _):
        await cache.wait_until_synced()
        assert cache.followed_seconds(CONFIG_MAPS) > 0
        streams.list_fails = Unreachable("no answer")
        await until(lambda: streams.lists == 2)
        await until(lambda: cache.followed_seconds(CONFIG_MAPS) == 0)
        streams.list_fails = None
        await until(lambda: len(streams.versions) >= 2)


async def test_an_object_is_read_by_its_name(streams):
    created = await create(streams.cluster, "a")
    async with following(streams) as (cache, _):
        with pytest.raises(Unreachable):
            await cache.get(CONFIG_MAPS, "a", namespace="default")
        await cache.wait_until_synced()
        assert name(created) == "a"
        assert await cache.get(CONFIG_MAPS, "a", namespace="default") == created
        with pytest.raises(caching.NotFound):
            await cache.get(CONFIG_MAPS, "a", namespace="other")
