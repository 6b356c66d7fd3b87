"""What callers rely on when they patch, in memory and on a real API server."""

import asyncio

import pytest
import pytest_asyncio

from activities.kube.json_patch import guarded
from activities.ports.cluster import CONFIG_MAPS, NODES, PODS
from activities.ports.errors import Conflict, NotFound, Rejected
from tests.activities.conformance.world import WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def config_map(world):
    """A stored ConfigMap `a` with data key=1."""
    return await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)


@pytest_asyncio.fixture(loop_scope="module")
async def widget(widgets):
    """A stored Widget of size 1."""
    return await widgets.cluster.create(WIDGETS, widgets.widget())


@pytest_asyncio.fixture(loop_scope="module")
async def pod(world):
    """A stored Pod `a` with the toleration `first` at least."""
    return await world.cluster.create(PODS, world.pod(), namespace=world.namespace)


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def check(path, value):
    return {"op": "test", "path": path, "value": value}


async def stored(world):
    return await world.cluster.get(CONFIG_MAPS, "a", namespace=world.namespace)


async def patch(world, *operations):
    return await world.cluster.patch(CONFIG_MAPS, "a", operations, namespace=world.namespace)


async def test_patch_returns_what_is_stored_under_a_newer_version(world, config_map):
    patched = await patch(world, add("/data/other", "2"), add("/metadata/labels", {"x": "1"}))
    assert patched["data"] == {"key": "1", "other": "2"}
    assert patched["metadata"]["labels"] == {"x": "1"}
    assert int(patched["metadata"]["resourceVersion"]) > int(config_map["metadata"]["resourceVersion"])
    assert patched["metadata"]["uid"] == config_map["metadata"]["uid"]
    assert await stored(world) == patched


@pytest.mark.parametrize(
    "path", ["/metadata/uid", "/metadata/resourceVersion", "/data/key", "/data/none", "/none/none"]
)
async def test_a_test_that_fails_anywhere_changes_nothing(world, config_map, path):
    with pytest.raises(Conflict):
        await patch(world, add("/data/key", "2"), check(path, "other"), add("/data/key", "3"))
    assert await stored(world) == config_map


async def test_a_patch_guarded_by_what_was_read_applies_once(world, config_map):
    operations = guarded(config_map, [add("/data/key", "2")])
    assert (await patch(world, *operations))["data"] == {"key": "2"}
    with pytest.raises(Conflict):
        await patch(world, *operations)


async def test_of_many_guarded_patches_at_once_one_applies(world, config_map):
    answers = await asyncio.gather(
        *(patch(world, *guarded(config_map, [add("/data/key", str(value))])) for value in range(2, 10)),
        return_exceptions=True,
    )
    assert sum(isinstance(answer, dict) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 7


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "add", "path": "/metadata/labels/x", "value": "1"}, id="no map to add to"),
        pytest.param({"op": "remove", "path": "/data/none"}, id="nothing to remove"),
        pytest.param({"op": "frob", "path": "/data/key", "value": "1"}, id="unknown operation"),
        pytest.param({"op": "add", "path": "/metadata/name", "value": "b"}, id="name"),
        pytest.param({"op": "add", "path": "/metadata/namespace", "value": "default"}, id="namespace"),
        pytest.param({"op": "add", "path": "/metadata/uid", "value": "b"}, id="uid"),
        pytest.param(
            {"op": "add", "path": "/metadata/deletionTimestamp", "value": "2020-01-01T00:00:00Z"}, id="deletion"
        ),
        pytest.param({"op": "add", "path": "/kind", "value": "Secret"}, id="kind"),
        pytest.param({"op": "add", "path": "/metadata", "value": "none"}, id="metadata"),
    ],
)
async def test_what_cannot_be_done_is_refused_and_changes_nothing(world, config_map, operation):
    with pytest.raises(Rejected):
        await patch(world, add("/data/key", "2"), operation)
    assert await stored(world) == config_map


async def test_a_stale_version_written_into_the_object_is_a_conflict(world, config_map):
    await patch(world, add("/data/key", "2"))
    with pytest.raises(Conflict):
        await patch(world, add("/metadata/resourceVersion", config_map["metadata"]["resourceVersion"]))


async def test_server_owned_metadata_stays_without_a_word(widgets, widget):
    operations = [
        add("/metadata/creationTimestamp", "2020-01-01T00:00:00Z"),
        add("/metadata/generation", 7),
    ]
    patched = await widgets.cluster.patch(WIDGETS, widgets.name(), operations)
    assert patched["metadata"]["creationTimestamp"] == widget["metadata"]["creationTimestamp"]
    assert patched["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([], id="empty"),
        pytest.param([add("/data/key", "1")], id="same value"),
        pytest.param([add("/metadata/labels", {})], id="empty labels"),
        pytest.param([add("/metadata/finalizers", [])], id="empty finalizers"),
        pytest.param([add("/data/x", "1"), {"op": "remove", "path": "/data/x"}], id="there and back"),
    ],
)
async def test_a_patch_that_changes_nothing_keeps_the_version(world, config_map, operations):
    assert await patch(world, *operations) == config_map
    assert await stored(world) == config_map


async def test_patch_of_a_missing_object(world):
    with pytest.raises(NotFound):
        await patch(world, check("/metadata/uid", "x"))


async def test_a_key_with_a_slash_is_escaped(world, config_map):
    await patch(world, add("/metadata/annotations", {}), add("/metadata/annotations/growth.dev~1idle-since", "now"))
    patched = await patch(world, check("/metadata/annotations/growth.dev~1idle-since", "now"))
    assert patched["metadata"]["annotations"] == {"growth.dev/idle-since": "now"}


async def test_items_of_a_list_are_added_removed_and_tested(world):
    node = world.node(taints=[{"key": "example.com/a", "effect": "NoSchedule"}])
    await world.cluster.create(NODES, node)
    own_taint = {"key": "example.com/b", "effect": "NoSchedule"}

    def keys(item):
        return [t["key"] for t in item["spec"].get("taints", []) if t["key"].startswith("example.com/")]

    operations = [check("/spec/taints/0/key", "example.com/a"), add("/spec/taints/-", own_taint)]
    assert keys(await world.cluster.patch(NODES, world.name(), operations)) == ["example.com/a", "example.com/b"]
    operations = [check("/spec/taints/0/key", "example.com/a"), {"op": "remove", "path": "/spec/taints/0"}]
    assert keys(await world.cluster.patch(NODES, world.name(), operations)) == ["example.com/b"]
    with pytest.raises(Conflict):
        await world.cluster.patch(NODES, world.name(), operations)


async def test_the_generation_counts_changes_of_the_wish_only(widgets, widget):
    async def generation(*operations, subresource=None):
        item = await widgets.cluster.patch(WIDGETS, widgets.name(), operations, subresource=subresource)
        return item["metadata"]["generation"]

    assert await generation(add("/metadata/labels/x", "1")) == 1
    assert await generation(add("/status", {"phase": "Ready"}), subresource="status") == 1
    assert await generation(add("/spec/size", 1)) == 1
    assert await generation(add("/spec/size", 2)) == 2


async def test_the_status_changes_only_through_its_subresource(widgets, widget):
    cluster, name = widgets.cluster, widgets.name()
    assert await cluster.patch(WIDGETS, name, [add("/status", {"phase": "Ready"})]) == widget
    patched = await cluster.patch(WIDGETS, name, [add("/status", {"phase": "Ready"})], subresource="status")
    assert patched["status"] == {"phase": "Ready"}
    after_removal = await cluster.patch(WIDGETS, name, [{"op": "remove", "path": "/status"}, add("/spec/size", 2)])
    assert (after_removal["status"], after_removal["spec"]) == ({"phase": "Ready"}, {"size": 2})


async def test_the_status_subresource_of_a_custom_kind_changes_nothing_else(widgets, widget):
    operations = [
        add("/status", {"phase": "Ready"}),
        add("/spec/size", 5),
        add("/metadata/labels/x", "1"),
        add("/metadata/finalizers", ["example.com/hold"]),
    ]
    patched = await widgets.cluster.patch(WIDGETS, widgets.name(), operations, subresource="status")
    assert patched["status"] == {"phase": "Ready"}
    assert patched["spec"] == widget["spec"]
    assert patched["metadata"]["labels"] == widget["metadata"]["labels"]
    assert "finalizers" not in patched["metadata"]


async def test_the_status_patch_is_guarded_too(widgets, widget):
    operations = guarded(widget, [add("/status", {"phase": "Ready"})])
    await widgets.cluster.patch(WIDGETS, widgets.name(), operations, subresource="status")
    with pytest.raises(Conflict):
        await widgets.cluster.patch(WIDGETS, widgets.name(), operations, subresource="status")


async def test_the_status_subresource_of_a_node_changes_metadata_but_not_the_spec(world):
    await world.cluster.create(NODES, world.node())
    operations = [
        add("/status", {"capacity": {"cpu": "4"}}),
        add("/metadata/labels/x", "1"),
        add("/spec/unschedulable", True),
    ]
    patched = await world.cluster.patch(NODES, world.name(), operations, subresource="status")
    assert patched["status"]["capacity"] == {"cpu": "4"}
    assert patched["metadata"]["labels"]["x"] == "1"
    assert "unschedulable" not in patched["spec"]


async def test_a_kind_without_status_has_no_status_subresource(world, config_map):
    with pytest.raises(NotFound):
        await world.cluster.patch(CONFIG_MAPS, "a", [], namespace=world.namespace, subresource="status")


async def test_tolerations_of_a_pod_may_be_added(world, pod):
    added = {"key": "growth.dev/reserved", "operator": "Equal", "value": "r", "effect": "NoSchedule"}
    operations = guarded(pod, [add("/spec/tolerations/-", added)])
    patched = await world.cluster.patch(PODS, "a", operations, namespace=world.namespace)
    assert patched["spec"]["tolerations"] == [*pod["spec"]["tolerations"], added]
    assert patched["metadata"]["generation"] == 2


async def test_tolerations_of_a_bound_pod_may_be_added(world, pod):
    await world.bind("a", "somewhere")
    operations = [add("/spec/tolerations/-", {"key": "second", "operator": "Exists"})]
    patched = await world.cluster.patch(PODS, "a", operations, namespace=world.namespace)
    assert patched["spec"]["tolerations"][-1]["key"] == "second"
    assert patched["spec"]["nodeName"] == "somewhere"


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "remove", "path": "/spec/tolerations/0"}, id="remove a toleration"),
        pytest.param(add("/spec/tolerations/0/key", "other"), id="change a toleration"),
        pytest.param(add("/spec/nodeName", "somewhere"), id="nodeName"),
        pytest.param(add("/spec/nodeSelector", {"a": "b"}), id="nodeSelector"),
        pytest.param(add("/spec/containers/0/resources", {"requests": {"cpu": "1"}}), id="requests"),
    ],
)
async def test_the_rest_of_a_pods_spec_is_fixed(world, pod, operation):
    with pytest.raises(Rejected):
        await world.cluster.patch(PODS, "a", [operation], namespace=world.namespace)
    assert await world.cluster.get(PODS, "a", namespace=world.namespace) == pod


async def test_binding_a_pod_says_that_it_is_scheduled_and_keeps_its_generation(world, pod):
    await world.bind("a", "somewhere")
    bound = await world.cluster.get(PODS, "a", namespace=world.namespace)
    assert bound["spec"]["nodeName"] == "somewhere"
    assert bound["metadata"]["generation"] == 1
    assert [(c["type"], c["status"]) for c in bound["status"]["conditions"]] == [("PodScheduled", "True")]
