"""What callers rely on when they watch, in memory and on a real API server."""

import asyncio

import pytest

from activities.ports.cluster import CONFIG_MAPS, PODS
from activities.ports.errors import Expired
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.conformance.world import WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def version(world, resource=CONFIG_MAPS):
    return (await world.cluster.list(resource)).resource_version


async def seen(world, count, since, *, resource=CONFIG_MAPS, labels=None):
    """Return the first `count` changes of this test's objects since a version."""
    events = []
    watch = world.cluster.watch(resource, resource_version=since, labels=labels or world.selector)
    async with asyncio.timeout(20):
        async for event in watch:
            if event.type != "BOOKMARK":
                events.append(event)
            if len(events) == count:
                break
    await watch.aclose()
    return events


async def create(world, name="a", **labels):
    body = world.config_map(name, labels={"test": world.namespace, **labels})
    return await world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace)


async def label(world, name, value):
    operations = [{"op": "add", "path": "/metadata/labels/x", "value": value}]
    return await world.cluster.patch(CONFIG_MAPS, name, operations, namespace=world.namespace)


async def test_every_change_is_seen_in_order_as_the_object_was(world):
    since = await version(world)
    created = await create(world)
    patched = await label(world, "a", "1")
    await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace)
    added, modified, deleted = await seen(world, 3, since)
    assert (added.type, added.object) == ("ADDED", created)
    assert (modified.type, modified.object) == ("MODIFIED", patched)
    assert deleted.type == "DELETED"
    versions = [int(event.object["metadata"]["resourceVersion"]) for event in (added, modified, deleted)]
    assert versions == sorted(set(versions))
    assert deleted.object["metadata"]["uid"] == created["metadata"]["uid"]
    assert deleted.object["data"] == created["data"]


async def test_only_changes_after_the_version_are_seen(world):
    created = await create(world)
    await label(world, "a", "1")
    (event,) = await seen(world, 1, created["metadata"]["resourceVersion"])
    assert event.type == "MODIFIED"


async def test_nothing_is_seen_of_a_patch_that_changes_nothing(world):
    since = await version(world)
    await create(world, x="1")
    await label(world, "a", "1")
    await label(world, "a", "2")
    events = await seen(world, 2, since)
    assert [event.object["metadata"]["labels"]["x"] for event in events] == ["1", "2"]


async def test_a_change_comes_to_a_watch_that_waits(world):
    since = await version(world)
    watching = asyncio.ensure_future(seen(world, 1, since))
    await asyncio.sleep(0.2)
    created = await create(world)
    (event,) = await watching
    assert event.object == created


async def test_all_watches_see_all_changes(world):
    since = await version(world)
    watching = [asyncio.ensure_future(seen(world, 2, since)) for _ in range(3)]
    for name in "ab":
        await create(world, name)
    for events in await asyncio.gather(*watching):
        assert [event.object["metadata"]["name"] for event in events] == ["a", "b"]


async def test_an_object_enters_and_leaves_a_watch_with_its_labels(world):
    since = await version(world)
    await create(world, x="0")
    first = await label(world, "a", "1")
    last = await label(world, "a", "0")
    await label(world, "a", "1")
    events = await seen(world, 3, since, labels=f"{world.selector},x=1")
    assert [event.type for event in events] == ["ADDED", "DELETED", "ADDED"]
    entered, left, _ = events
    assert entered.object == first
    # It leaves as it last matched, under the version of the change.
    assert left.object["metadata"]["labels"]["x"] == "1"
    assert left.object["metadata"]["resourceVersion"] == last["metadata"]["resourceVersion"]


async def test_a_held_deletion_is_a_modification_first(widgets):
    since = await version(widgets, WIDGETS)
    await widgets.cluster.create(WIDGETS, widgets.widget(finalizers=["example.com/hold"]))
    await widgets.cluster.delete(WIDGETS, widgets.name())
    await widgets.cluster.patch(WIDGETS, widgets.name(), [{"op": "remove", "path": "/metadata/finalizers"}])
    events = await seen(widgets, 3, since, resource=WIDGETS)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert "deletionTimestamp" in events[1].object["metadata"]


async def test_events_carry_their_kind(world):
    since = await version(world, PODS)
    await world.cluster.create(PODS, world.pod(labels={"test": world.namespace}), namespace=world.namespace)
    (event,) = await seen(world, 1, since, resource=PODS)
    assert (event.object["apiVersion"], event.object["kind"]) == ("v1", "Pod")


async def test_a_watch_that_is_too_old_expires(widgets):
    """The real server keeps no history of widgets from before they were defined."""
    await widgets.cluster.create(WIDGETS, widgets.widget())
    if isinstance(widgets.cluster, MemoryCluster):
        widgets.cluster.forget_history(WIDGETS)
    with pytest.raises(Expired):
        await seen(widgets, 1, "1", resource=WIDGETS)


async def test_list_then_watch_loses_nothing(world):
    """Each object is in the list or comes through the watch, never neither, never both."""

    async def write():
        for number in range(30):
            await create(world, f"{number:02}")

    writing = asyncio.ensure_future(write())
    listed = await world.cluster.list(CONFIG_MAPS, labels=world.selector)
    while len(listed.items) < 5:
        await asyncio.sleep(0)
        listed = await world.cluster.list(CONFIG_MAPS, labels=world.selector)
    await writing
    names = [item["metadata"]["name"] for item in listed.items]
    rest = 30 - len(names)
    if rest:
        names += [event.object["metadata"]["name"] for event in await seen(world, rest, listed.resource_version)]
    assert names == [f"{number:02}" for number in range(30)]
