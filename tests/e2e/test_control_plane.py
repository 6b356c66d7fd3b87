"""The harness itself: what every other e2e test takes for granted."""

import os
import signal
import time

import pytest
import yaml

from tests.e2e.harness_process import ProcessDied
from tests.e2e.scene import clear_workloads

pytestmark = pytest.mark.e2e

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "smoke", "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"smoke": "yes"}},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    },
}


def deployment(name, replicas, cpu, **pod):
    labels = {"app": name}
    container = {"name": "c", "image": "example.com/image", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}},
        },
    }


@pytest.fixture
def apply(control_plane):
    """Create objects, and delete them after the test."""
    made = []

    def create(*items):
        text = yaml.safe_dump_all(items)
        made.append(text)
        control_plane.kubectl("create", "-f", "-", stdin=text)

    yield create
    for text in reversed(made):
        control_plane.kubectl("delete", "--ignore-not-found", "--timeout=60s", "-f", "-", stdin=text)
    # Pods outlive their Deployment, and on a Node that is gone for long.
    clear_workloads(control_plane)


def condition(item, kind):
    found = [each for each in item["status"].get("conditions", []) if each["type"] == kind]
    return found[0] if found else {}


def test_a_kwok_node_becomes_ready_and_runs_what_is_scheduled_to_it(control_plane, apply):
    apply(NODE, deployment("fits", 3, "1", nodeSelector={"smoke": "yes"}))
    control_plane.wait_for(
        lambda: condition(control_plane.api.get("nodes", "smoke"), "Ready").get("status") == "True", "the node is Ready"
    )

    def running():
        pods = control_plane.api.items("pods", labels="app=fits")
        return [pod["spec"].get("nodeName") for pod in pods if pod["status"]["phase"] == "Running"]

    control_plane.wait_for(lambda: running() == ["smoke"] * 3, "three pods run on the node")


def test_a_pod_that_fits_nowhere_is_told_unschedulable(control_plane, apply):
    apply(deployment("homeless", 1, "100", nodeSelector={"smoke": "nowhere"}))

    def told():
        pods = control_plane.api.items("pods", labels="app=homeless")
        scheduled = [condition(pod, "PodScheduled") for pod in pods]
        return [(each.get("status"), each.get("reason")) for each in scheduled] == [("False", "Unschedulable")]

    control_plane.wait_for(told, "the pod is told Unschedulable")


def test_users_other_than_the_admin_may_do_nothing(control_plane):
    assert control_plane.kubectl("auth", "can-i", "*", "*").strip() == "yes"
    for user in ("growth", "nobody"):
        with pytest.raises(AssertionError, match="forbidden"):
            control_plane.kubectl("get", "nodes", user=user)


def test_our_definitions_are_accepted_and_served(control_plane):
    control_plane.apply_definitions()
    served = control_plane.kubectl("api-resources", "--api-group=growth.dev", "-o", "name").split()
    kinds = ("hetznernodeclasses", "kwoknodeclasses", "nodepools", "noderemovalrequests", "noderequests")
    assert sorted(served) == [f"{kind}.growth.dev" for kind in kinds]


def test_without_a_scheduler_no_pod_is_placed_until_it_is_back(control_plane, apply):
    def pods():
        return control_plane.api.items("pods", labels="app=waits")

    control_plane.stop("kube-scheduler")
    try:
        control_plane.check()
        apply(NODE, deployment("waits", 2, "1", nodeSelector={"smoke": "yes"}))
        control_plane.wait_for(lambda: len(pods()) == 2, "both pods are made")
        # A scheduler that runs takes a tenth of this.
        time.sleep(2)
        assert [(pod["spec"].get("nodeName"), condition(pod, "PodScheduled")) for pod in pods()] == [(None, {})] * 2
    finally:
        control_plane.start("kube-scheduler")
    control_plane.wait_for(lambda: [pod["status"]["phase"] for pod in pods()] == ["Running"] * 2, "both pods run")
    control_plane.check()


def test_a_process_that_dies_by_itself_fails_whatever_waits(control_plane):
    os.kill(control_plane.pid("kwok"), signal.SIGKILL)
    with pytest.raises(ProcessDied, match="kwok ended with -9"):
        control_plane.wait_for(lambda: False, "never", 10)
    control_plane.stop("kwok")
    control_plane.start("kwok")
    control_plane.check()
