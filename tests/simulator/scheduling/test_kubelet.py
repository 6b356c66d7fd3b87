from datetime import UTC, datetime, timedelta

import pytest

from activities.ports.cluster import NODES, PODS
from activities.ports.errors import NotFound
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.kubelet import Kubelet

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OTHER = {"key": "example.com/other", "effect": "NoExecute"}


class Bench:
    def __init__(self):
        self.time = NOW
        self.cluster = MemoryCluster(lambda: self.time)
        self.kubelet = Kubelet(self.cluster, now=lambda: self.time)

    async def add_node(self, name="a", *, managed=True, taints=()):
        annotations = {"kwok.x-k8s.io/node": "fake"} if managed else {}
        body = {"metadata": {"name": name, "annotations": annotations}, "spec": {"taints": list(taints)}}
        await self.cluster.create(NODES, body)

    async def add_bound_pod(self, name="p", *, node="a", **spec):
        body = {"metadata": {"name": name}, "spec": {"containers": [], **spec}}
        await self.cluster.create(PODS, body, namespace="default")
        self.cluster.bind("default", name, node)

    async def settle(self):
        for _ in range(10):
            if not await self.kubelet.step():
                return
        pytest.fail("the kubelet never comes to rest")

    async def ready(self, name="a"):
        node = await self.cluster.get(NODES, name)
        return next((c["status"] for c in node.get("status", {}).get("conditions", ()) if c["type"] == "Ready"), None)

    async def taints(self, name="a"):
        return (await self.cluster.get(NODES, name))["spec"].get("taints", [])

    async def pod(self, name="p"):
        return await self.cluster.get(PODS, name, namespace="default")


async def test_a_managed_node_becomes_ready_and_keeps_the_taints_of_others():
    bench = Bench()
    await bench.add_node(taints=[NOT_READY, OTHER])
    await bench.settle()
    assert await bench.ready() == "True"
    assert await bench.taints() == [OTHER]


async def test_a_node_without_a_kubelet_takes_no_pods():
    bench = Bench()
    await bench.add_node(managed=False)
    await bench.settle()
    assert await bench.ready() is None
    assert await bench.taints() == [NOT_READY]


async def test_a_node_that_loses_its_kubelet_is_no_longer_ready():
    bench = Bench()
    await bench.add_node()
    await bench.settle()
    await bench.cluster.patch(NODES, "a", [{"op": "remove", "path": "/metadata/annotations"}])
    await bench.settle()
    assert await bench.ready() == "Unknown"
    assert await bench.taints() == [NOT_READY]


async def test_readiness_is_dated_from_its_beginning():
    bench = Bench()
    await bench.add_node()
    await bench.settle()
    bench.time += timedelta(hours=1)
    await bench.settle()
    node = await bench.cluster.get(NODES, "a")
    assert node["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_bound_pods_run():
    bench = Bench()
    await bench.add_node()
    await bench.add_bound_pod()
    await bench.settle()
    pod = await bench.pod()
    assert pod["status"]["phase"] == "Running"
    assert {c["type"]: c["status"] for c in pod["status"]["conditions"]} == {"PodScheduled": "True", "Ready": "True"}


async def test_pods_on_a_node_that_is_not_ready_do_not_start():
    bench = Bench()
    await bench.add_node(managed=False)
    await bench.add_bound_pod()
    await bench.settle()
    assert (await bench.pod())["status"]["phase"] == "Pending"


async def test_pods_of_a_gone_node_and_deleted_pods_disappear():
    bench = Bench()
    await bench.add_node()
    await bench.add_bound_pod("orphan", node="gone")
    await bench.add_bound_pod("deleted")
    await bench.add_bound_pod("stays")
    await bench.cluster.delete(PODS, "deleted", namespace="default")
    await bench.settle()
    assert [p["metadata"]["name"] for p in (await bench.cluster.list(PODS)).items] == ["stays"]


async def test_a_no_execute_taint_evicts_who_does_not_tolerate_it():
    bench = Bench()
    await bench.add_node(taints=[OTHER])
    await bench.add_bound_pod("tolerant", tolerations=[{"key": OTHER["key"], "operator": "Exists"}])
    await bench.add_bound_pod("evicted")
    await bench.settle()
    assert (await bench.pod("tolerant"))["status"]["phase"] == "Running"
    with pytest.raises(NotFound):
        await bench.pod("evicted")


async def test_a_finalizer_holds_a_stopped_pod():
    bench = Bench()
    await bench.add_node()
    await bench.add_bound_pod()
    await bench.cluster.patch(
        PODS, "p", [{"op": "add", "path": "/metadata/finalizers", "value": ["example.org/x"]}], namespace="default"
    )
    await bench.cluster.delete(PODS, "p", namespace="default")
    await bench.settle()
    assert (await bench.pod())["metadata"]["deletionGracePeriodSeconds"] == 0


async def test_a_dead_kubelet_ends_no_pod_until_its_node_is_gone_or_it_is_back():
    bench = Bench()
    await bench.add_node()
    await bench.add_node("b")
    await bench.add_bound_pod()
    await bench.add_bound_pod("q", node="b")
    await bench.settle()
    for name in ("a", "b"):
        change = [{"op": "add", "path": "/metadata/annotations/kwok.x-k8s.io~1node", "value": "dead"}]
        await bench.cluster.patch(NODES, name, change)
    await bench.settle()
    assert await bench.ready() == "Unknown"
    unreachable = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    assert await bench.taints() == [NOT_READY, unreachable]
    assert "deletionTimestamp" in (await bench.pod())["metadata"]
    bench.time += timedelta(hours=1)
    await bench.settle()
    assert "deletionTimestamp" in (await bench.pod("q"))["metadata"]
    await bench.cluster.delete(NODES, "a")
    change = [{"op": "add", "path": "/metadata/annotations/kwok.x-k8s.io~1node", "value": "fake"}]
    await bench.cluster.patch(NODES, "b", change)
    await bench.settle()
    assert (await bench.ready("b"), await bench.taints("b")) == ("True", [])
    for name in ("p", "q"):
        with pytest.raises(NotFound):
            await bench.pod(name)
