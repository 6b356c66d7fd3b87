from datetime import UTC, datetime

import pytest

from activities.ports.cluster import DAEMON_SETS, NODES, PODS
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.kubelet import Kubelet
from simulator.scheduling.scheduler import Scheduler
from simulator.scheduling.workloads import Daemons, Workload, Workloads
from tests.builders import daemon_set, node

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: NOW)


async def names(cluster):
    return [p["metadata"]["name"] for p in (await cluster.list(PODS)).items]


async def add_node(cluster, name, **changes):
    await cluster.create(NODES, node(name, "cx32", annotations={"kwok.x-k8s.io/node": "fake"}, **changes))


async def test_missing_pods_are_created_with_their_owner(cluster):
    workloads = Workloads(cluster)
    workload = Workload("web", 2, {"cpu": "500m"}, spec={"nodeSelector": {"a": "b"}})
    workloads.add(workload)
    assert await workloads.step()
    pods = (await cluster.list(PODS)).items
    assert [p["metadata"]["name"] for p in pods] == ["web-00001", "web-00002"]
    owner = pods[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("ReplicaSet", workload.uid, True)
    assert pods[0]["spec"]["nodeSelector"] == {"a": "b"}
    assert pods[0]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}}
    assert not await workloads.step()


async def test_a_deleted_pod_is_replaced_by_another_of_the_same_owner(cluster):
    workloads = Workloads(cluster)
    workloads.add(Workload("web", 1, {"cpu": "1"}))
    await workloads.step()
    await cluster.delete(PODS, "web-00001", namespace="default")
    await workloads.step()
    assert await names(cluster) == ["web-00002"]


async def test_a_finished_pod_is_replaced(cluster):
    workloads = Workloads(cluster)
    workloads.add(Workload("web", 1, {"cpu": "1"}))
    await workloads.step()
    failed = [{"op": "add", "path": "/status/phase", "value": "Failed"}]
    await cluster.patch(PODS, "web-00001", failed, namespace="default", subresource="status")
    await workloads.step()
    assert await names(cluster) == ["web-00001", "web-00002"]


async def test_scaling_down_takes_pending_pods_first_and_newer_ones_before_older_ones(cluster):
    workloads = Workloads(cluster)
    workloads.add(Workload("web", 4, {"cpu": "1"}))
    await workloads.step()
    await add_node(cluster, "a")
    for bound in ("web-00002", "web-00003", "web-00004"):
        cluster.bind("default", bound, "a")
    workloads.scale("web", 2)
    await workloads.step()
    await Kubelet(cluster, now=lambda: NOW).step()
    assert await names(cluster) == ["web-00002", "web-00003"]


async def test_only_pods_of_the_owner_count(cluster):
    await cluster.create(PODS, {"metadata": {"name": "web-alone"}, "spec": {"containers": []}}, namespace="default")
    workloads = Workloads(cluster)
    workloads.add(Workload("web", 1, {"cpu": "1"}))
    await workloads.step()
    workloads.scale_all(0)
    await workloads.step()
    assert await names(cluster) == ["web-alone"]


async def add_agent(cluster, **spec):
    await cluster.create(DAEMON_SETS, daemon_set("agent", **spec), namespace="kube-system")


async def test_each_node_that_fits_gets_its_daemon_pod(cluster):
    await add_agent(cluster, nodeSelector={"disk": "ssd"})
    await add_node(cluster, "a", labels={"disk": "ssd"})
    await add_node(cluster, "b", labels={"disk": "ssd"})
    await add_node(cluster, "c")
    daemons, scheduler = Daemons(cluster), Scheduler(cluster, now=lambda: NOW, seed=0)
    assert await daemons.step()
    await scheduler.step()
    placed = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in (await cluster.list(PODS)).items}
    assert placed == {"agent-a": "a", "agent-b": "b"}
    assert not await daemons.step()


async def test_a_reserved_node_gets_its_daemon_pod_when_it_opens(cluster):
    await add_agent(cluster)
    await add_node(cluster, "a", taints=[{"key": "growth.dev/reserved", "value": "r", "effect": "NoSchedule"}])
    daemons = Daemons(cluster)
    assert not await daemons.step()
    await cluster.patch(NODES, "a", [{"op": "remove", "path": "/spec/taints"}])
    assert await daemons.step()
    # A taint that comes later leaves the running pod, except NoExecute.
    scale_down = {"key": "growth.dev/scale-down", "value": "0", "effect": "NoSchedule"}
    await cluster.patch(NODES, "a", [{"op": "add", "path": "/spec/taints", "value": [scale_down]}])
    assert not await daemons.step()
    await cluster.patch(NODES, "a", [{"op": "add", "path": "/spec/taints/0/effect", "value": "NoExecute"}])
    assert await daemons.step()
    assert await names(cluster) == []
