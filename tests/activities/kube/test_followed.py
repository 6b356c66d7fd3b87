"""For how long a cache has followed a resource without a failure: what was not seen for a while is not judged."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from activities.kube.cache import Cache, followed_since
from activities.ports.cluster import CONFIG_MAPS
from activities.ports.errors import Unreachable
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.kube.test_cache import Faulty


@pytest.fixture
def memory():
    return MemoryCluster(lambda: datetime(2026, 11, 1, tzinfo=UTC))


async def test_for_how_long_a_resource_is_followed_begins_anew_after_each_failure(memory, monkeypatch):
    clock = {"seconds": 100.0}
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock["seconds"])
    faulty = Faulty(memory)
    faulty.lists = [Unreachable("no answer")]
    cache = Cache(faulty, (CONFIG_MAPS,))
    assert cache.followed_seconds(CONFIG_MAPS) == 0
    store = cache._stores[CONFIG_MAPS]
    with pytest.raises(Unreachable):
        await cache._list(store)
    assert cache.followed_seconds(CONFIG_MAPS) == 0
    await cache._list(store)
    clock["seconds"] = 130.0
    assert cache.followed_seconds(CONFIG_MAPS) == 30
    now = datetime(2026, 11, 1, tzinfo=UTC)
    assert followed_since(cache, CONFIG_MAPS, lambda: now)() == now - timedelta(seconds=30)


async def test_a_watch_that_fails_ends_the_time_for_which_a_resource_is_followed(memory):
    faulty = Faulty(memory)
    faulty.watches = [Unreachable("cut off")]
    seen = []

    async def sleep(_seconds):
        seen.append(cache.followed_seconds(CONFIG_MAPS))
        await asyncio.sleep(0)

    cache = Cache(faulty, (CONFIG_MAPS,), sleep=sleep)
    task = asyncio.create_task(cache.run())
    await cache.wait_until_synced()
    async with asyncio.timeout(5):
        while not seen:
            await asyncio.sleep(0)
    assert seen == [0.0]
    await memory.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="default")
    async with asyncio.timeout(5):
        while cache.followed_seconds(CONFIG_MAPS) == 0:
            await asyncio.sleep(0)
    task.cancel()
