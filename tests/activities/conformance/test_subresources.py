"""Patches of subresources other than `status`, in memory and on a real API server."""

import pytest
import pytest_asyncio

from activities.kube.json_patch import guarded
from activities.ports.cluster import CONFIG_MAPS, PODS, Resource
from activities.ports.errors import Conflict, NotFound, Rejected
from tests.activities.conformance.world import WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
TEMPLATE = {
    "metadata": {"labels": {"app": "a", "tier": "web"}},
    "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]},
}


@pytest_asyncio.fixture(loop_scope="module")
async def replicated(world):
    """A stored StatefulSet `a` that wants two pods."""
    selector = {"matchLabels": TEMPLATE["metadata"]["labels"]}
    spec = {"replicas": 2, "serviceName": "a", "selector": selector, "template": TEMPLATE}
    body = {"metadata": {"name": "a"}, "spec": spec}
    return await world.cluster.create(STATEFUL_SETS, body, namespace=world.namespace)


@pytest_asyncio.fixture(loop_scope="module")
async def pod(world):
    """A stored Pod `a` whose container asks for a tenth of a core."""
    body = world.pod()
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    return await world.cluster.create(PODS, body, namespace=world.namespace)


def add(path, value):
    return {"op": "add", "path": path, "value": value}


async def scale(world, *operations):
    return await world.cluster.patch(STATEFUL_SETS, "a", operations, namespace=world.namespace, subresource="scale")


async def resize(world, *operations):
    return await world.cluster.patch(PODS, "a", operations, namespace=world.namespace, subresource="resize")


async def test_a_scale_is_an_object_of_its_own_that_changes_the_replicas(world, replicated):
    scaled = await scale(world, add("/spec/replicas", 5))
    assert (scaled["kind"], scaled["apiVersion"], scaled["spec"]) == ("Scale", "autoscaling/v1", {"replicas": 5})
    assert scaled["metadata"]["uid"] == replicated["metadata"]["uid"]
    assert set(scaled["status"]["selector"].split(",")) == {"app=a", "tier=web"}
    stored = await world.cluster.get(STATEFUL_SETS, "a", namespace=world.namespace)
    assert stored["spec"] == {**replicated["spec"], "replicas": 5}
    assert stored["metadata"]["generation"] == 2


async def test_a_scale_to_none_has_no_replicas(world, replicated):
    assert (await scale(world, add("/spec/replicas", 0)))["spec"] == {}
    assert (await scale(world, add("/spec/replicas", 1)))["spec"] == {"replicas": 1}


async def test_a_scale_is_guarded_by_its_own_fields(world, replicated):
    with pytest.raises(Conflict):
        await scale(world, {"op": "test", "path": "/spec/replicas", "value": 3}, add("/spec/replicas", 5))
    with pytest.raises(Rejected):
        await scale(world, {"op": "remove", "path": "/spec/template"})
    await scale(world, {"op": "test", "path": "/spec/replicas", "value": 2}, add("/spec/replicas", 5))
    stored = await world.cluster.get(STATEFUL_SETS, "a", namespace=world.namespace)
    assert stored["spec"]["replicas"] == 5


async def test_a_resize_changes_what_containers_ask_for_and_nothing_else(world, pod):
    added = {"key": "other", "operator": "Exists"}
    operations = guarded(
        pod, [add("/spec/containers/0/resources/requests/cpu", "200m"), add("/spec/tolerations/-", added)]
    )
    resized = await resize(world, *operations)
    assert resized["kind"] == "Pod"
    assert resized["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "200m", "memory": "64Mi"}
    assert resized["spec"]["tolerations"] == pod["spec"]["tolerations"]
    assert resized["metadata"]["generation"] == 2
    with pytest.raises(Conflict):
        await resize(world, *operations)


async def test_what_a_pod_asks_for_changes_only_by_a_resize(world, pod):
    change = add("/spec/containers/0/resources/requests/cpu", "200m")
    with pytest.raises(Rejected):
        await world.cluster.patch(PODS, "a", [change], namespace=world.namespace)


async def test_a_kind_without_the_subresource_has_none(widgets):
    await widgets.cluster.create(CONFIG_MAPS, widgets.config_map(), namespace=widgets.namespace)
    await widgets.cluster.create(WIDGETS, widgets.widget())
    for resource, name, namespace, subresource in (
        (CONFIG_MAPS, "a", widgets.namespace, "scale"),
        (WIDGETS, widgets.name(), None, "scale"),
        (WIDGETS, widgets.name(), None, "resize"),
    ):
        with pytest.raises(NotFound):
            await widgets.cluster.patch(
                resource, name, [add("/spec/replicas", 1)], namespace=namespace, subresource=subresource
            )
