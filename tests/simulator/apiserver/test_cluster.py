"""What only the cluster in memory has; what it shares with an API server is in the conformance suite."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from activities.ports.cluster import CONFIG_MAPS, NODE_REQUESTS, NODES, PODS
from activities.ports.errors import Conflict, Expired, NotFound
from simulator.apiserver.cluster import MemoryCluster
from tests.builders import pod

START = datetime(2026, 11, 1, 12, 0, 0, 987_000, tzinfo=UTC)


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: START)


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


async def test_two_clusters_with_the_same_calls_hold_the_same_objects(cluster):
    other = MemoryCluster(lambda: START)
    for each in (cluster, other):
        await each.create(CONFIG_MAPS, {"metadata": {"generateName": "a-"}}, namespace="default")
        await each.create(PODS, pod("p"), namespace="default")
    for resource in (CONFIG_MAPS, PODS):
        assert await cluster.list(resource) == await other.list(resource)


async def test_times_are_whole_seconds_of_the_clock_handed_in(cluster):
    created = await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
    assert created["metadata"]["creationTimestamp"] == "2026-11-01T12:00:00Z"


async def test_no_object_is_shared_with_a_caller(cluster):
    body = config_map("a", key="1")
    created = await cluster.create(CONFIG_MAPS, body, namespace="default")
    listed = (await cluster.list(CONFIG_MAPS)).items[0]
    labels = {"x": "1"}
    patched = await cluster.patch(
        CONFIG_MAPS, "a", [{"op": "add", "path": "/metadata/labels", "value": labels}], namespace="default"
    )
    watched = await anext(cluster.watch(CONFIG_MAPS, resource_version="1"))
    labels["x"] = "2"
    for mine in (body, created, listed, patched, watched.object):
        mine["data"]["key"] = "2"
    stored = await cluster.get(CONFIG_MAPS, "a", namespace="default")
    assert (stored["data"], stored["metadata"]["labels"]) == ({"key": "1"}, {"x": "1"})


@pytest.mark.parametrize("value", [START, Decimal(1), {1: "a"}, object()])
async def test_what_is_not_json_is_refused_as_it_could_not_be_sent(cluster, value):
    with pytest.raises(TypeError, match="API object"):
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"key": value}}, namespace="default")


async def test_bind_assigns_once(cluster):
    await cluster.create(PODS, pod("p"), namespace="default")
    bound = cluster.bind("default", "p", "node-1")
    assert bound["spec"]["nodeName"] == "node-1"
    assert bound["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-01T12:00:00Z"}
    ]
    with pytest.raises(Conflict):
        cluster.bind("default", "p", "node-2")


async def test_a_pod_being_deleted_cannot_be_bound(cluster):
    body = pod("p")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await cluster.create(PODS, body, namespace="default")
    await cluster.delete(PODS, "p", namespace="default")
    with pytest.raises(Conflict):
        cluster.bind("default", "p", "node-1")


async def test_a_bound_pod_stays_for_its_grace_until_the_kubelet_finishes_it(cluster):
    await cluster.create(PODS, pod("p", terminationGracePeriodSeconds=60), namespace="default")
    cluster.bind("default", "p", "node-1")
    with pytest.raises(Conflict):
        cluster.finish("default", "p")
    await cluster.delete(PODS, "p", namespace="default")
    metadata = (await cluster.get(PODS, "p", namespace="default"))["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == ("2026-11-01T12:01:00Z", 60)
    cluster.finish("default", "p")
    with pytest.raises(NotFound):
        await cluster.get(PODS, "p", namespace="default")


async def test_a_finished_pod_with_a_finalizer_goes_when_the_finalizer_goes(cluster):
    body = pod("p")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await cluster.create(PODS, body, namespace="default")
    cluster.bind("default", "p", "node-1")
    await cluster.delete(PODS, "p", namespace="default")
    cluster.finish("default", "p")
    await cluster.patch(PODS, "p", [{"op": "remove", "path": "/metadata/finalizers"}], namespace="default")
    with pytest.raises(NotFound):
        await cluster.get(PODS, "p", namespace="default")


async def test_an_owner_that_was_never_stored_counts_as_alive(cluster):
    body = config_map("a")
    body["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}]
    await cluster.create(CONFIG_MAPS, body, namespace="default")
    assert await cluster.get(CONFIG_MAPS, "a", namespace="default")


async def test_an_object_created_for_an_owner_that_is_gone_is_collected(cluster):
    owner = await cluster.create(NODE_REQUESTS, {"metadata": {"name": "r"}})
    await cluster.delete(NODE_REQUESTS, "r")
    body = {"metadata": {"name": "n", "ownerReferences": [{"name": "r", "uid": owner["metadata"]["uid"]}]}}
    await cluster.create(NODES, body)
    with pytest.raises(NotFound):
        await cluster.get(NODES, "n")


async def test_a_watch_that_falls_behind_the_history_expires():
    cluster = MemoryCluster(lambda: START, history=3)
    watch = cluster.watch(CONFIG_MAPS, resource_version="1")
    await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
    assert (await anext(watch)).object["metadata"]["name"] == "a"
    for name in "bcde":
        await cluster.create(CONFIG_MAPS, config_map(name), namespace="default")
    with pytest.raises(Expired):
        await anext(watch)
    with pytest.raises(Expired):
        await anext(cluster.watch(CONFIG_MAPS, resource_version="1"))


async def test_forgotten_history_expires_only_watches_that_have_not_seen_it(cluster):
    created = await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
    cluster.forget_history(CONFIG_MAPS)
    with pytest.raises(Expired):
        await anext(cluster.watch(CONFIG_MAPS, resource_version="1"))
    watch = cluster.watch(CONFIG_MAPS, resource_version=created["metadata"]["resourceVersion"])
    await cluster.delete(CONFIG_MAPS, "a", namespace="default")
    assert (await anext(watch)).type == "DELETED"


async def test_a_watch_waits_without_running_and_all_watches_wake(cluster):
    watches = [asyncio.ensure_future(anext(cluster.watch(CONFIG_MAPS, resource_version="1"))) for _ in range(3)]
    await asyncio.sleep(0)
    await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
    assert [event.type for event in await asyncio.gather(*watches)] == ["ADDED"] * 3


async def test_an_observer_sees_each_write_in_its_place_before_anybody_else_acts(cluster):
    seen = []
    cluster.observe(lambda resource, change: seen.append((resource.kind, change.kind, change.version)))
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="n")
    assert seen == [("ConfigMap", "ADDED", 2)]
    await cluster.delete(CONFIG_MAPS, "a", namespace="n")
    assert seen[1:] == [("ConfigMap", "DELETED", 3)]


async def test_a_peek_shows_the_stored_objects_in_the_order_of_a_list(cluster):
    for name in ("b", "a"):
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace="n")
    assert cluster.peek(CONFIG_MAPS) == (await cluster.list(CONFIG_MAPS)).items
    assert cluster.peek(CONFIG_MAPS)[0] is cluster.peek(CONFIG_MAPS)[0]
