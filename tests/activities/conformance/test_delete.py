"""What callers rely on when they delete, in memory and on a real API server."""

import pytest
import pytest_asyncio

from activities.ports.cluster import CONFIG_MAPS, NODES, PODS
from activities.ports.errors import Conflict, NotFound, Rejected
from tests.activities.conformance.world import WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOLD = "example.com/hold"


def owned_by(*owners):
    return [
        {key: owner[key] for key in ("apiVersion", "kind")}
        | {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        for owner in owners
    ]


@pytest_asyncio.fixture(loop_scope="module")
async def held(widgets):
    """A deleted widget that a finalizer holds, as it was created."""
    created = await widgets.cluster.create(WIDGETS, widgets.widget(finalizers=[HOLD]))
    await widgets.cluster.delete(WIDGETS, widgets.name())
    return created


@pytest_asyncio.fixture(loop_scope="module")
async def created(world):
    """A ConfigMap."""
    return await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)


async def test_a_deleted_object_is_gone(world, created):
    await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace)
    assert await world.is_gone(CONFIG_MAPS, "a", world.namespace)
    with pytest.raises(NotFound):
        await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace)


@pytest.mark.parametrize("wrong", [{"uid": "00000000-0000-0000-0000-000000000000"}, {"resource_version": "1"}])
async def test_delete_only_what_was_read(world, created, wrong):
    metadata = created["metadata"]
    right = {"uid": metadata["uid"], "resource_version": metadata["resourceVersion"]}
    with pytest.raises(Conflict):
        await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace, **{**right, **wrong})
    assert await world.cluster.get(CONFIG_MAPS, "a", namespace=world.namespace) == created
    await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace, **right)
    assert await world.is_gone(CONFIG_MAPS, "a", world.namespace)


async def test_a_finalizer_holds_what_is_deleted(widgets, held):
    created, marked = held, await widgets.cluster.get(WIDGETS, widgets.name())
    assert marked["metadata"]["deletionTimestamp"] >= created["metadata"]["creationTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert marked["metadata"]["generation"] == 2
    assert marked["spec"] == created["spec"]


async def test_deleting_again_what_is_held_changes_nothing(widgets, held):
    marked = await widgets.cluster.get(WIDGETS, widgets.name())
    await widgets.cluster.delete(WIDGETS, widgets.name())
    assert await widgets.cluster.get(WIDGETS, widgets.name()) == marked


async def test_what_is_held_can_still_be_written(widgets, held):
    operations = [{"op": "add", "path": "/status", "value": {"phase": "Deprovisioning"}}]
    await widgets.cluster.patch(WIDGETS, widgets.name(), operations, subresource="status")
    operations = [{"op": "add", "path": "/metadata/labels/x", "value": "1"}]
    item = await widgets.cluster.patch(WIDGETS, widgets.name(), operations)
    assert (item["status"], item["metadata"]["labels"]["x"]) == ({"phase": "Deprovisioning"}, "1")
    assert item["metadata"]["finalizers"] == [HOLD]


async def test_no_finalizer_can_be_added_during_deletion(widgets, held):
    with pytest.raises(Rejected):
        await widgets.cluster.patch(
            WIDGETS, widgets.name(), [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/late"}]
        )


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/metadata/finalizers"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
        {"op": "replace", "path": "/metadata/finalizers", "value": []},
    ],
)
async def test_it_goes_with_its_last_finalizer(widgets, held, operation):
    last = await widgets.cluster.patch(WIDGETS, widgets.name(), [operation])
    assert "finalizers" not in last["metadata"]
    assert await widgets.is_gone(WIDGETS, widgets.name())


async def test_a_finalizer_that_goes_before_the_deletion_holds_nothing(widgets):
    await widgets.cluster.create(WIDGETS, widgets.widget(finalizers=[HOLD]))
    await widgets.cluster.patch(WIDGETS, widgets.name(), [{"op": "remove", "path": "/metadata/finalizers"}])
    assert not await widgets.is_gone(WIDGETS, widgets.name())
    await widgets.cluster.delete(WIDGETS, widgets.name())
    assert await widgets.is_gone(WIDGETS, widgets.name())


async def test_a_pod_without_node_goes_at_once(world):
    await world.cluster.create(PODS, world.pod(), namespace=world.namespace)
    await world.cluster.delete(PODS, "a", namespace=world.namespace)
    assert await world.is_gone(PODS, "a", world.namespace)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_goes_at_once(world, phase):
    await world.cluster.create(PODS, world.pod(), namespace=world.namespace)
    await world.bind("a", world.name())
    await world.set_phase("a", phase)
    await world.cluster.delete(PODS, "a", namespace=world.namespace)
    assert await world.is_gone(PODS, "a", world.namespace)


async def test_a_pod_on_a_node_stays_until_its_kubelet_has_stopped_it(world):
    await world.cluster.create(PODS, world.pod(), namespace=world.namespace)
    await world.bind("a", world.name())
    await world.cluster.delete(PODS, "a", namespace=world.namespace)
    metadata = (await world.cluster.get(PODS, "a", namespace=world.namespace))["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["deletionTimestamp"] > metadata["creationTimestamp"]
    assert metadata["generation"] == 2
    await world.finish("a")
    assert await world.is_gone(PODS, "a", world.namespace)


async def create_owned(world, name, *owners, **metadata):
    body = world.config_map(name, ownerReferences=owned_by(*owners), **metadata)
    return await world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace)


async def create_owner(world, name, **metadata):
    return await world.cluster.create(CONFIG_MAPS, world.config_map(name, **metadata), namespace=world.namespace)


async def test_what_an_object_owned_alone_goes_with_it_down_the_line(world):
    owner = await create_owner(world, "owner")
    owned = await create_owned(world, "owned", owner)
    await create_owned(world, "grandchild", owned)
    await world.cluster.delete(CONFIG_MAPS, "owner", namespace=world.namespace)
    await world.until(lambda: world.is_gone(CONFIG_MAPS, "owned", world.namespace))
    await world.until(lambda: world.is_gone(CONFIG_MAPS, "grandchild", world.namespace))


async def test_an_object_adopted_later_goes_with_its_owner(world):
    owner = await create_owner(world, "owner")
    await create_owner(world, "owned")
    operations = [{"op": "add", "path": "/metadata/ownerReferences", "value": owned_by(owner)}]
    await world.cluster.patch(CONFIG_MAPS, "owned", operations, namespace=world.namespace)
    await world.cluster.delete(CONFIG_MAPS, "owner", namespace=world.namespace)
    await world.until(lambda: world.is_gone(CONFIG_MAPS, "owned", world.namespace))


async def test_a_cluster_scoped_owner_takes_along_what_it_owned(world):
    owner = await world.cluster.create(NODES, world.node("owner"))
    body = world.config_map(ownerReferences=owned_by(owner))
    await world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace)
    await world.cluster.delete(NODES, world.name("owner"))
    await world.until(lambda: world.is_gone(CONFIG_MAPS, "a", world.namespace))


async def test_an_object_with_another_owner_stays_and_forgets_the_one_that_is_gone(world):
    first, second = await create_owner(world, "first"), await create_owner(world, "second")
    await create_owned(world, "owned", first, second)
    await world.cluster.delete(CONFIG_MAPS, "first", namespace=world.namespace)

    async def forgets():
        item = await world.cluster.get(CONFIG_MAPS, "owned", namespace=world.namespace)
        return item["metadata"]["ownerReferences"] == owned_by(second)

    await world.until(forgets)


async def test_a_finalizer_holds_an_object_whose_owner_is_gone(world):
    owner = await create_owner(world, "owner")
    await create_owned(world, "owned", owner, finalizers=[HOLD])
    await world.cluster.delete(CONFIG_MAPS, "owner", namespace=world.namespace)

    async def is_marked():
        item = await world.cluster.get(CONFIG_MAPS, "owned", namespace=world.namespace)
        return "deletionTimestamp" in item["metadata"]

    await world.until(is_marked)


async def test_a_held_owner_keeps_what_it_owns(world):
    owner = await create_owner(world, "owner", finalizers=[HOLD])
    await create_owned(world, "owned", owner)
    await world.cluster.delete(CONFIG_MAPS, "owner", namespace=world.namespace)
    assert not await world.is_gone(CONFIG_MAPS, "owned", world.namespace)
    operations = [{"op": "remove", "path": "/metadata/finalizers"}]
    await world.cluster.patch(CONFIG_MAPS, "owner", operations, namespace=world.namespace)
    await world.until(lambda: world.is_gone(CONFIG_MAPS, "owned", world.namespace))
