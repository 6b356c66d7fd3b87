import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from activities.kube.cache import Cache
from activities.ports.cluster import CONFIG_MAPS, CRDS, LIMIT_RANGES, NODES, PODS, ObjectList, WatchEvent
from activities.ports.errors import Expired, Forbidden, NotFound, Rejected, Unreachable
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.conformance.world import DEFINITION, WIDGETS


class Faulty:
    """A cluster whose next calls fail as told; a None in the list lets one call through."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.lists, self.watches = [], []
        self.listed = 0

    async def list(self, resource):
        self.listed += 1
        failure = self.lists.pop(0) if self.lists else None
        if failure:
            raise failure
        return await self.cluster.list(resource)

    async def watch(self, resource, *, resource_version):
        failure = self.watches.pop(0) if self.watches else None
        if failure:
            raise failure
        async for event in self.cluster.watch(resource, resource_version=resource_version):
            yield event
            if self.watches and self.watches[0] == "cut":
                self.watches.pop(0)
                return


@pytest.fixture
def memory():
    return MemoryCluster(lambda: datetime(2026, 11, 1, tzinfo=UTC))


@pytest.fixture
def pauses():
    return []


@asynccontextmanager
async def following(cluster, *resources, pauses=None):
    """A cache that runs until the block ends, and what it told."""

    async def sleep(seconds):
        if pauses is not None:
            pauses.append(seconds)
        await asyncio.sleep(0)

    cache = Cache(cluster, resources or (CONFIG_MAPS,), sleep=sleep)
    notices = []
    cache.subscribe(lambda resource, event, before: notices.append((event.type, name(event.object), before)))
    running = asyncio.ensure_future(cache.run())
    try:
        async with asyncio.timeout(10):
            yield cache, notices
    finally:
        running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()


def name(item):
    return item["metadata"]["name"]


async def until(holds):
    while not holds():
        await asyncio.sleep(0)


async def create(cluster, key, **data):
    return await cluster.create(CONFIG_MAPS, {"metadata": {"name": key}, "data": data}, namespace="default")


async def change(cluster, key, **data):
    return await cluster.patch(CONFIG_MAPS, key, [{"op": "add", "path": "/data", "value": data}], namespace="default")


async def delete(cluster, key):
    await cluster.delete(CONFIG_MAPS, key, namespace="default")


async def names(cache):
    return [name(item) for item in (await cache.list(CONFIG_MAPS)).items]


async def test_it_holds_what_was_there_and_what_comes(memory):
    await create(memory, "a")
    async with following(memory) as (cache, notices):
        await cache.wait_until_synced()
        assert await names(cache) == ["a"]
        await create(memory, "b")
        patched = await change(memory, "b", value="2")
        await delete(memory, "a")
        await until(lambda: len(notices) == 4)
        listed = await cache.list(CONFIG_MAPS)
        assert listed.items == [patched]
        assert listed == await memory.list(CONFIG_MAPS)
        assert [(kind, key) for kind, key, _ in notices] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("MODIFIED", "b"),
            ("DELETED", "a"),
        ]


async def test_subscribers_get_the_object_as_it_was_before(memory):
    before = await create(memory, "a", value="1")
    async with following(memory) as (cache, notices):
        await cache.wait_until_synced()
        changed = await change(memory, "a", value="2")
        await delete(memory, "a")
        await until(lambda: len(notices) == 3)
    assert [previous for _, _, previous in notices] == [None, before, changed]


async def test_before_the_first_list_it_has_no_answer(memory):
    cache = Cache(memory, [CONFIG_MAPS])
    assert not cache.synced()
    with pytest.raises(Unreachable):
        await cache.list(CONFIG_MAPS)


async def test_it_is_synced_when_all_resources_are(memory):
    faulty = Faulty(memory)
    faulty.lists = [None, Unreachable("down"), Unreachable("down")]
    async with following(faulty, PODS, NODES) as (cache, _):
        await until(lambda: faulty.listed == 2)
        assert not cache.synced()
        await cache.wait_until_synced()
        assert cache.synced()
        assert faulty.listed == 4


async def test_a_watch_that_is_cut_goes_on_where_it_was(memory):
    faulty = Faulty(memory)
    faulty.watches = [None, "cut", Unreachable("cut off"), None, "cut"]
    async with following(faulty) as (cache, notices):
        await cache.wait_until_synced()
        for key in "abcd":
            await create(memory, key)
        await until(lambda: len(notices) == 4)
        assert await names(cache) == ["a", "b", "c", "d"]
    assert faulty.listed == 1


async def test_a_relist_tells_what_happened_meanwhile(memory):
    for key in ("kept", "changed", "deleted", "replaced"):
        await create(memory, key)
    faulty = Faulty(memory)
    # The watch does not begin before all is done, and then it is too late for it.
    gate = asyncio.Event()
    plain_watch = faulty.watch

    async def watch(resource, *, resource_version):
        await gate.wait()
        async for event in plain_watch(resource, resource_version=resource_version):
            yield event

    faulty.watch = watch
    faulty.watches = [Expired("too old")]
    async with following(faulty) as (cache, notices):
        await cache.wait_until_synced()
        notices.clear()
        first = {name(item): item for item in (await cache.list(CONFIG_MAPS)).items}
        await change(memory, "changed", value="2")
        await delete(memory, "deleted")
        await delete(memory, "replaced")
        await create(memory, "replaced", value="2")
        await create(memory, "added")
        gate.set()
        await until(lambda: len(notices) == 5)
        assert await cache.list(CONFIG_MAPS) == await memory.list(CONFIG_MAPS)
    assert notices == [
        ("DELETED", "deleted", first["deleted"]),
        ("DELETED", "replaced", first["replaced"]),
        ("ADDED", "added", None),
        ("MODIFIED", "changed", first["changed"]),
        ("ADDED", "replaced", None),
    ]
    assert faulty.listed == 2


async def test_it_recovers_from_a_history_that_the_cluster_has_forgotten():
    memory = MemoryCluster(lambda: datetime(2026, 11, 1, tzinfo=UTC), history=2)
    async with following(memory) as (cache, notices):
        await cache.wait_until_synced()
        for number in range(10):
            await create(memory, f"{number}")
        await until(lambda: len(notices) == 10)
        assert await cache.list(CONFIG_MAPS) == await memory.list(CONFIG_MAPS)


async def test_a_history_that_is_forgotten_again_and_again_is_listed_ever_less_often(memory, pauses):
    faulty = Faulty(memory)
    faulty.watches = [Expired("too old resource version")] * 9
    async with following(faulty, pauses=pauses) as (cache, notices):
        await cache.wait_until_synced()
        await until(lambda: len(pauses) == 9)
        for pause, limit in zip(pauses, [0.5, 1, 2, 4, 8, 16, 30, 30, 30], strict=True):
            assert limit / 2 <= pause <= limit
        assert faulty.listed <= 10
        await create(memory, "a")
        await until(lambda: notices)


async def test_pauses_grow_while_it_fails_and_start_small_again(memory, pauses):
    faulty = Faulty(memory)
    faulty.lists = [Unreachable("down")] * 9
    async with following(faulty, pauses=pauses) as (cache, notices):
        await cache.wait_until_synced()
        longest = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
        assert len(pauses) == len(longest)
        for pause, limit in zip(pauses, longest, strict=True):
            assert limit / 2 <= pause <= limit
        await create(memory, "a")
        await until(lambda: notices)
        faulty.watches = ["cut", Unreachable("down")]
        await create(memory, "b")
        await until(lambda: len(pauses) == 10)
        assert pauses[-1] <= 0.5


async def test_the_servers_wish_for_a_pause_is_kept(memory, pauses):
    faulty = Faulty(memory)
    faulty.lists = [Unreachable("busy", retry_after_seconds=7)]
    async with following(faulty, pauses=pauses) as (cache, _):
        await cache.wait_until_synced()
    assert pauses == [7]


async def test_it_goes_on_after_a_refusal_and_tells_of_it_when_asked(memory, pauses, caplog):
    faulty = Faulty(memory)
    refusal = Rejected("configmaps is forbidden")
    faulty.lists = [refusal]
    failures = []
    async with following(faulty, pauses=pauses) as (cache, _):
        assert cache.failures() == {}
        while not cache.synced():
            failures.append(cache.failures())
            await asyncio.sleep(0)
        assert cache.failures() == {}
    assert len(pauses) == 1
    assert {CONFIG_MAPS: refusal} in failures
    # Whoever waits for the first list tells of it, for all resources in one line.
    assert caplog.text == ""


async def test_what_may_not_be_read_counts_as_empty_where_growth_does_without_until_the_right_is_there(
    memory, pauses, caplog
):
    faulty = Faulty(memory)
    refusal = Forbidden("limitranges is forbidden", user="growth", verb="list", resource="limitranges", advice="grant")
    faulty.lists = [refusal, refusal]
    await memory.create(LIMIT_RANGES, {"metadata": {"name": "usual"}, "spec": {}}, namespace="shop")
    async with following(faulty, LIMIT_RANGES, pauses=pauses) as (cache, _):
        await cache.wait_until_synced()
        assert await cache.list(LIMIT_RANGES) == ObjectList([], "")
        assert cache.failures() == {}
        while not (await cache.list(LIMIT_RANGES)).items:
            await asyncio.sleep(0)
    assert caplog.text.count("limitranges are not read, and nothing is planned by them") == 1


async def test_a_right_that_is_taken_away_leaves_none_of_them(memory):
    faulty = Faulty(memory)
    refusal = Forbidden("limitranges is forbidden", user="growth", verb="watch", resource="limitranges", advice="grant")
    await memory.create(LIMIT_RANGES, {"metadata": {"name": "usual"}, "spec": {}}, namespace="shop")
    faulty.watches = [refusal]
    faulty.lists = [None, *[refusal] * 100]
    async with following(faulty, LIMIT_RANGES) as (cache, _):
        await cache.wait_until_synced()
        while (await cache.list(LIMIT_RANGES)).items:
            await asyncio.sleep(0)
        assert cache.synced()


async def test_a_later_outage_is_told_of_when_it_begins(memory, pauses, caplog):
    faulty = Faulty(memory)
    faulty.watches = [Unreachable("gone"), Unreachable("gone")]
    async with following(faulty, pauses=pauses) as (cache, _):
        await cache.wait_until_synced()
        while len(pauses) < 2:
            await asyncio.sleep(0)
    assert caplog.text.count("the cache cannot follow configmaps and tries again: gone") == 1


async def test_a_watch_in_which_nothing_came_is_followed_by_a_list(memory, pauses):
    """After a restore of its store, an API server is silent on a version that it has not reached yet."""
    faulty = Faulty(memory)

    async def silent(resource, *, resource_version):
        faulty.watch = type(faulty).watch.__get__(faulty)
        await create(memory, "unseen")
        return
        yield

    faulty.watch = silent
    async with following(faulty, pauses=pauses) as (_, notices):
        await until(lambda: notices)
    assert notices == [("ADDED", "unseen", None)]
    assert len(pauses) == 1


async def test_bookmarks_move_the_version_only(memory):
    faulty = Faulty(memory)

    async def bookmarked(resource, *, resource_version):
        yield WatchEvent("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "77"}})
        await asyncio.Event().wait()

    faulty.watch = bookmarked
    async with following(faulty) as (cache, notices):
        await cache.wait_until_synced()
        while (await cache.list(CONFIG_MAPS)).resource_version != "77":
            await asyncio.sleep(0)
    assert notices == []


async def test_managed_fields_are_not_kept(memory):
    managed = {"name": "a", "managedFields": [{"manager": "kubectl"}]}
    await memory.create(CONFIG_MAPS, {"metadata": managed}, namespace="default")
    async with following(memory) as (cache, notices):
        await cache.wait_until_synced()
        await memory.create(CONFIG_MAPS, {"metadata": {**managed, "name": "b"}}, namespace="default")
        await until(lambda: len(notices) == 2)
        assert not any("managedFields" in item["metadata"] for item in (await cache.list(CONFIG_MAPS)).items)


async def test_without_its_definition_a_kind_has_no_objects_and_no_answer(memory):
    memory.install_definitions([DEFINITION])
    await memory.create(WIDGETS, {"metadata": {"name": "w"}})
    async with following(memory, WIDGETS) as (cache, notices):
        await cache.wait_until_synced()
        await memory.delete(CRDS, name(DEFINITION))
        await until(lambda: not cache.synced())
        assert [kind for kind, _, _ in notices] == ["ADDED", "DELETED"]
        with pytest.raises(Unreachable):
            await cache.list(WIDGETS)
        memory.install_definitions([DEFINITION])
        await memory.create(WIDGETS, {"metadata": {"name": "w"}})
        await cache.wait_until_synced()
        await until(lambda: len(notices) == 3)
        assert [name(item) for item in (await cache.list(WIDGETS)).items] == ["w"]


async def test_an_optional_kind_without_its_definition_has_no_objects_and_is_waited_for_by_nobody(memory):
    optional = replace(WIDGETS, is_optional=True)
    memory.install_definitions([DEFINITION])
    await memory.delete(CRDS, name(DEFINITION))
    with pytest.raises(NotFound):
        await memory.list(optional)
    async with following(memory, CONFIG_MAPS, optional) as (cache, notices):
        await cache.wait_until_synced()
        assert (await cache.list(optional)).items == []
        assert cache.failures() == {}
        memory.install_definitions([DEFINITION])
        await memory.create(WIDGETS, {"metadata": {"name": "w"}})
        await until(lambda: len(notices) == 1)
        assert [name(item) for item in (await cache.list(optional)).items] == ["w"]
        await memory.delete(CRDS, name(DEFINITION))
        await until(lambda: len(notices) == 2)
        assert cache.synced()
        assert (await cache.list(optional)).items == []


async def test_objects_of_an_undefined_kind_that_no_watch_told_of_are_deleted(memory):
    await create(memory, "a")
    faulty = Faulty(memory)
    faulty.watches = [NotFound("no such resource")]
    async with following(faulty) as (_, notices):
        await until(lambda: len(notices) == 3)
    assert [(kind, key) for kind, key, _ in notices] == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


async def test_a_subscriber_that_fails_stops_nothing(memory, caplog):
    async with following(memory) as (cache, notices):
        cache.subscribe(lambda *_: 1 / 0)
        late = []
        cache.subscribe(lambda _, event, __: late.append(name(event.object)))
        await create(memory, "a")
        await create(memory, "b")
        await until(lambda: len(late) == 2)
    assert [key for _, key, _ in notices] == late == ["a", "b"]
    assert "ZeroDivisionError" in caplog.text
