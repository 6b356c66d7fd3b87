"""`growth status` and `growth why` while a cluster grows and shrinks, as a person runs them: they say what is so."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from tests.builders import deployment
from tests.e2e.cluster_view import ClusterView
from tests.e2e.commands import GROWTH, Commands
from tests.e2e.growth_process import GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import single_pod

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_what_status_and_why_say_is_so(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    view = ClusterView(plane)
    growth = Commands(plane, tmp_path)
    with scene(plane, tmp_path, cluster="status", separate=False) as worker:
        patience = '{"spec":{"scaleDown":{"idleAfter":"1s","softGrace":"5m"}}}'
        plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", patience)
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(deployment("web", 2, "3", "1Gi")))
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(single_pod("too-large", "100")))
        plane.wait_for(lambda: view.unschedulable() == 3, "the scheduler has judged all pods")

        # Before the worker is up: what a round would do.
        text = growth.told("status")
        assert text.startswith("0 machines: 0 ready, 0 coming, 0 going")
        assert "3 pods that the scheduler cannot place: 2 onto " in text
        assert "Without a place: 1 TooLarge" in text
        pod = next(p["metadata"]["name"] for p in view.pods() if p["metadata"]["name"].startswith("web-"))
        assert "The next round buys a " in growth.told("why", "pod", f"default/{pod}")
        assert not view.items("noderequests"), "a command that only looks has bought something"

        worker.start()
        plane.wait_for(lambda: view.running() == 2, "both pods run")
        plane.wait_for(lambda: set(view.phases("noderequests")) == {"Ready"}, "all requests are Ready")
        text = growth.told("status")
        machines = view.nodes()
        assert text.startswith(f"{len(machines)} machines: ")
        assert f"{view.cost_per_hour():.4f} EUR per hour" in text
        assert all(name in text for name in machines)
        node = next(p["spec"]["nodeName"] for p in view.pods() if p["metadata"]["name"] == pod)
        assert f"it is on node {node} (Ready" in growth.told("why", "pod", pod)
        told = growth.told("why", "node", node)
        assert f"Node {node}: bought by Growth for pool default; a " in told
        assert f"default/{pod}" in told
        told = growth.told("why", "request", node)
        assert "Phase Ready" in told
        assert f"Temporal workflow: node-request:status:{node}:" in told
        plane.wait_for(lambda: "What Growth told of it last:" in growth.told("why", "pod", "too-large"), "an event")
        assert "  TooLarge: no machine of pool default is large enough" in growth.told("why", "pod", "too-large")
        check_name(plane, worker)

        plane.kubectl("delete", "deployments", "web", "-n", "default", "--wait=true")
        plane.wait_for(lambda: has_cool_off(view), "a cool-off has begun")
        name = next(o["metadata"]["name"] for o in view.items("noderemovalrequests"))
        told = growth.told("why", "removal", name)
        assert "Phase Pending: cools off until " in told
        assert f"You may: `growth removals cancel {name}`." in told
        text = growth.told("status")
        assert f"growth removals cancel {name}\n" in text
        assert "cools off until " in text

        watch_twice(growth)
        assert "no Node is named nothing" in growth.refused("why", "node", "nothing")
        plane.kubectl("delete", "pod", "too-large", "-n", "default", "--grace-period=0", "--force")


def has_cool_off(view: ClusterView) -> bool:
    removals = view.items("noderemovalrequests")
    return any("taintedAt" in json.dumps(removal.get("status", {})) for removal in removals)


def check_name(plane: ControlPlane, worker: GrowthProcess) -> None:
    """The cluster's name is in all that other places may collect of several clusters."""
    assert {json.loads(line)["cluster"] for line in worker.log().splitlines()} == {"status"}
    samples = worker.metrics()
    assert {line.partition("_")[0] for line in samples} == {"growth", "temporal", "target"}
    assert [line for line in samples if 'cluster="status"' not in line] == []
    events = json.loads(plane.kubectl("get", "events.events.k8s.io", "-A", "-o", "json"))["items"]
    own = [event["metadata"]["name"] for event in events if event.get("reportingInstance") == "growth-status"]
    assert own
    selector = "-l", "growth.dev/cluster=status"
    selected = json.loads(plane.kubectl("get", "events.events.k8s.io", "-A", *selector, "-o", "json"))["items"]
    assert sorted(event["metadata"]["name"] for event in selected) == sorted(own)


def watch_twice(growth: Commands) -> None:
    """Let --watch print into a pipe until it has looked twice, then press Ctrl-C."""
    with subprocess.Popen(
        [GROWTH, "status", "--watch"], env=growth.environment(), stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        deadline, looks = time.monotonic() + 30, 0
        try:
            while looks < 2 and time.monotonic() < deadline:
                looks += "machine" in (line := watch.stdout.readline()) and "going" in line and "coming" in line
            watch.send_signal(signal.SIGINT)
            watch.stdout.read()
            assert watch.wait(timeout=10) == 0
        finally:
            watch.kill()
    assert looks == 2
