"""What callers rely on when the definitions of our kinds are deleted.

Source: docs/design.md#deleting.
"""

import asyncio
import contextlib

import pytest
import pytest_asyncio

from activities.ports.cluster import CRDS
from activities.ports.errors import NotFound, Rejected
from tests.activities.conformance.world import DEFINITION, WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = DEFINITION["metadata"]["name"]
HOLD = "example.com/hold"


@pytest_asyncio.fixture(loop_scope="module")
async def defined(widgets):
    """Widgets are defined and there are none, whatever other tests have left behind."""
    for item in (await widgets.cluster.list(WIDGETS)).items:
        name = item["metadata"]["name"]
        if item["metadata"].get("finalizers"):
            await release(widgets, name)
        with contextlib.suppress(NotFound):
            await widgets.cluster.delete(WIDGETS, name)
    return widgets


async def release(world, name):
    await world.cluster.patch(WIDGETS, name, [{"op": "remove", "path": "/metadata/finalizers"}])


async def is_undefined(world):
    return await world.is_gone(CRDS, NAME) and not await world.serves_widgets()


async def test_a_deleted_definition_takes_objects_and_resource_along(defined):
    await defined.cluster.create(WIDGETS, defined.widget())
    await defined.cluster.delete(CRDS, NAME)
    await defined.until(lambda: is_undefined(defined))
    with pytest.raises(NotFound):
        await defined.cluster.list(WIDGETS)
    with pytest.raises(NotFound):
        await defined.cluster.get(WIDGETS, defined.name())
    with pytest.raises(NotFound):
        await defined.cluster.create(WIDGETS, defined.widget())
    with pytest.raises(NotFound):
        await defined.cluster.patch(WIDGETS, defined.name(), [])
    with pytest.raises(NotFound):
        await defined.cluster.delete(WIDGETS, defined.name())
    with pytest.raises(NotFound):
        await anext(defined.cluster.watch(WIDGETS, resource_version="1"))


async def test_a_definition_waits_for_its_held_objects(defined):
    await defined.cluster.create(WIDGETS, defined.widget(finalizers=[HOLD]))
    await defined.cluster.create(WIDGETS, defined.widget("free"))
    await defined.cluster.delete(CRDS, NAME)

    async def is_marked():
        item = await defined.cluster.get(WIDGETS, defined.name())
        return "deletionTimestamp" in item["metadata"] and await defined.is_gone(WIDGETS, defined.name("free"))

    await defined.until(is_marked)
    assert "deletionTimestamp" in (await defined.cluster.get(CRDS, NAME))["metadata"]
    with pytest.raises(Rejected):
        await defined.cluster.create(WIDGETS, defined.widget("late"))
    await release(defined, defined.name())
    await defined.until(lambda: is_undefined(defined))


async def test_a_definition_created_again_serves_an_empty_kind(defined):
    await defined.cluster.create(WIDGETS, defined.widget())
    await defined.cluster.delete(CRDS, NAME)
    await defined.until(lambda: is_undefined(defined))
    await defined.define_widgets()
    assert (await defined.cluster.list(WIDGETS)).items == []
    await defined.cluster.create(WIDGETS, defined.widget())


async def test_a_watch_ends_when_its_kind_is_undefined(defined):
    since = (await defined.cluster.list(WIDGETS)).resource_version
    ended = asyncio.Event()

    async def watch():
        with contextlib.suppress(NotFound):
            async for _ in defined.cluster.watch(WIDGETS, resource_version=since):
                pass
        ended.set()

    watching = asyncio.ensure_future(watch())
    await asyncio.sleep(0)
    await defined.cluster.delete(CRDS, NAME)
    await defined.until(lambda: is_undefined(defined))
    async with asyncio.timeout(20):
        await ended.wait()
    await watching
