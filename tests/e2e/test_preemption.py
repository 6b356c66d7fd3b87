"""Pods that the scheduler keeps a node for: nothing is bought for them, and their node stays."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.builders import as_sent, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.commands import Commands
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import clear_workloads, scene
from tests.e2e.workloads import single_pod

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

POOL = as_sent(
    node_pool(types=[{"name": "cx22", "max": 5}], limits={"max": 5}, scaleDown={"idleAfter": "1s", "softGrace": "10s"})
)
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "preemption-urgent"},
    "value": 1000,
}
NEARLY_ALL = "1500m"
"""Of the 1.9 cores of a cx22."""
HELD = "example.com/held-by-the-test"


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane with a worker and a pool of one server type."""
    with scene(control_plane, tmp_path_factory.mktemp("preemption"), cluster="preemption") as growth:
        apply(control_plane, POOL, URGENT)
        growth.start()
        yield control_plane
        control_plane.kubectl("delete", "priorityclass", URGENT["metadata"]["name"])


@pytest.fixture(autouse=True)
def cleared(plane: ControlPlane) -> Iterator[None]:
    """Leave no pod to the next test, also where this one fails midway."""
    yield
    clear_workloads(plane)
    plane.wait_for(lambda: not ClusterView(plane).nodes(), "idle machines go", 60)


def apply(plane: ControlPlane, *objects: dict[str, Any]) -> None:
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


def found(plane: ControlPlane, name: str) -> dict[str, Any]:
    pod = plane.api.get("pods", name, "default")
    assert pod is not None
    return pod


def runs_on(plane: ControlPlane, name: str) -> str:
    """Wait until the pod runs on a node that is open for all, and return its name."""
    view = ClusterView(plane)
    plane.wait_for(lambda: found(plane, name)["status"].get("phase") == "Running", f"{name} runs", 40)
    node = found(plane, name)["spec"]["nodeName"]

    def is_open() -> bool:
        return not view.nodes()[node]["spec"].get("taints")

    plane.wait_for(is_open, f"{node} is open", 90)
    return node


def seats(view: ClusterView, besides: set[str]) -> list[list[str]]:
    """Return the names of the pods that each request was made for, without the requests `besides`."""
    requests = [request for request in view.items("noderequests") if request["metadata"]["name"] not in besides]
    return sorted([seat["name"] for seat in request["spec"]["reservedFor"]] for request in requests)


def test_nothing_is_bought_for_a_pod_that_others_are_preempted_for(plane, tmp_path):
    view, growth = ClusterView(plane), Commands(plane, tmp_path)
    # Records of machines that are gone stay for a while.
    before = {request["metadata"]["name"] for request in view.items("noderequests")}
    victim = single_pod("preemption-low", NEARLY_ALL)
    # Nobody ends it, so that it terminates until the test says so.
    victim["metadata"]["finalizers"] = [HELD]
    apply(plane, victim)
    node = runs_on(plane, "preemption-low")
    try:
        urgent = single_pod("preemption-high", NEARLY_ALL)
        urgent["spec"]["priorityClassName"] = URGENT["metadata"]["name"]
        apply(plane, urgent)
        plane.wait_for(
            lambda: found(plane, "preemption-high")["status"].get("nominatedNodeName") == node, "the pod is nominated"
        )
        # The scheduler nominates first and deletes its victims in the background (SchedulerAsyncPreemption).
        plane.wait_for(
            lambda: "deletionTimestamp" in found(plane, "preemption-low")["metadata"], "the victim terminates"
        )

        # A round has looked at all pods once a machine is bought for this one.
        apply(plane, single_pod("preemption-third", NEARLY_ALL))
        other = runs_on(plane, "preemption-third")
        assert other != node
        assert seats(view, before) == [["preemption-low"], ["preemption-third"]]
        assert found(plane, "preemption-high")["status"]["nominatedNodeName"] == node
        told = growth.told("why", "pod", "default/preemption-high")
        assert (
            f"It is no demand: it waits for node {node}, where the scheduler makes room for it by preemption." in told
        )
        told = growth.told("why", "node", node)
        assert "1 pod on it: default/preemption-low" in told
        assert "The scheduler keeps it for 1 pod: default/preemption-high." in told
    finally:
        plane.kubectl("patch", "pod", "preemption-low", "-n", "default", "-p", '{"metadata":{"finalizers":null}}')
    assert runs_on(plane, "preemption-high") == node
    assert seats(view, before) == [["preemption-low"], ["preemption-third"]]


def test_an_empty_node_stays_while_it_is_kept_for_a_pod(plane):
    view = ClusterView(plane)
    apply(plane, single_pod("preemption-first", NEARLY_ALL))
    node = runs_on(plane, "preemption-first")
    # They fit nowhere, so that they stay on their way.
    for name in ("preemption-early", "preemption-late"):
        awaited = single_pod(name, "100m")
        awaited["spec"] |= {"nodeSelector": {"example.com/nowhere": "yes"}, "tolerations": [{"operator": "Exists"}]}
        apply(plane, awaited)
    plane.wait_for(lambda: view.unschedulable() == 2, "the scheduler has judged both")
    nominate(plane, "preemption-early", node)
    plane.kubectl("delete", "pod", "preemption-first", "-n", "default")
    # Far more than the pool's idleAfter, and the planner was told at once that a pod has ended.
    time.sleep(6)
    assert found(plane, "preemption-early")["status"]["nominatedNodeName"] == node
    assert not removals(view, node)
    assert "growth.dev/idle-since" not in view.nodes()[node]["metadata"]["annotations"]

    # Without that pod it cools off, and one that comes meanwhile keeps it.
    plane.kubectl("delete", "pod", "preemption-early", "-n", "default")
    plane.wait_for(
        lambda: any("taintedAt" in removal["status"] for removal in removals(view, node)), "the node cools off", 30
    )
    nominate(plane, "preemption-late", node)
    why = "By NotEmpty: 1 pods are on the node or on their way to it: default/preemption-late"
    plane.wait_for(lambda: any(why in event["message"] for event in view.items("events")), "the removal ends", 30)
    assert node in view.nodes()
    plane.kubectl("delete", "pod", "preemption-late", "-n", "default")
    plane.wait_for(lambda: not view.nodes(), "the machine goes", 60)


def removals(view: ClusterView, node: str) -> list[dict[str, Any]]:
    """Return the removals of this node."""
    found = [removal for removal in view.items("noderemovalrequests") if removal["spec"]["nodeName"] == node]
    return [{"status": {}} | removal for removal in found]


def nominate(plane: ControlPlane, pod: str, node: str) -> None:
    """Say in the scheduler's place that it keeps the node for the pod."""
    status = json.dumps({"status": {"nominatedNodeName": node}})
    plane.kubectl("patch", "pod", pod, "-n", "default", "--subresource=status", "--type=merge", "-p", status)
