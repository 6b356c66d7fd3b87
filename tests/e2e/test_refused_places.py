"""A second kube-scheduler with rules of its own, which no plan knows: machines on trial are few, and all is told."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import as_sent, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.commands import Commands
from tests.e2e.harness import ControlPlane
from tests.e2e.harness_build import binaries
from tests.e2e.harness_process import Process
from tests.e2e.scene import clear_workloads, scene
from tests.e2e.workloads import single_pod

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

POOL = as_sent(node_pool(types=["cx22", "cx32"], limits={"max": 20}, scaleDown={"idleAfter": "1s", "softGrace": "1s"}))
ENFORCED = "didn't match scheduler-enforced node affinity"
"""Words of kube-scheduler's plug-in NodeAffinity about `addedAffinity`, which stands in its configuration alone."""


def profile(name: str, key: str, operator: str, *values: str) -> dict[str, Any]:
    """Return a profile of the scheduler that binds pods only to Nodes that meet one expression."""
    expression = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    arguments = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeAffinityArgs", "addedAffinity": added}
    return {"schedulerName": name, "pluginConfig": [{"name": "NodeAffinity", "args": arguments}]}


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The control plane with a worker, and with a scheduler for pods that name one of its profiles."""
    folder = tmp_path_factory.mktemp("refused")
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig)},
        "leaderElection": {"leaderElect": False},
        "profiles": [
            profile("choosy", "growth.dev/server-type", "NotIn", "cx22"),
            profile("never", "growth.dev/pool", "DoesNotExist"),
        ],
    }
    path = folder / "scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    command = [binaries() / "kube-scheduler", f"--config={path}", "--secure-port=0"]
    scheduler = Process("second-scheduler", command, folder=folder)
    try:
        with scene(control_plane, folder, cluster="refused", quick=True) as growth:
            apply(control_plane, POOL)
            growth.start()
            yield control_plane
    finally:
        scheduler.kill()


@pytest.fixture(autouse=True)
def cleared(plane: ControlPlane) -> Iterator[None]:
    """Leave no pod to the next test, also where this one fails midway."""
    yield
    clear_workloads(plane)
    plane.wait_for(lambda: not ClusterView(plane).nodes(), "idle machines go", 60)


def apply(plane: ControlPlane, *objects: dict[str, Any]) -> None:
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))


class Trials:
    """The machines that were ever asked for since, by type."""

    def __init__(self, plane: ControlPlane) -> None:
        self._view = ClusterView(plane)
        self._before = {request["metadata"]["name"] for request in self._view.items("noderequests")}
        self._types: dict[str, str] = {}

    def look(self) -> Counter[str]:
        """Take note of requests, and return how many there were of each type."""
        for request in self._view.items("noderequests"):
            if (name := request["metadata"]["name"]) not in self._before:
                self._types[name] = request["spec"]["serverType"]
        return Counter(self._types.values())


def events(plane: ControlPlane, pod: str) -> list[str]:
    listed = json.loads(plane.kubectl("get", "events.events.k8s.io", "-n", "default", "-o", "json"))["items"]
    return [e["note"] for e in listed if e["reason"] == "PlacementRefused" and e["regarding"]["name"] == pod]


def node_of(plane: ControlPlane, name: str) -> str:
    pod = plane.api.get("pods", name, "default")
    assert pod is not None
    return str(pod["spec"].get("nodeName", ""))


def remembered(plane: ControlPlane) -> list[dict[str, Any]]:
    (pool,) = plane.api.items("nodepools")
    return list(pool["status"]["refusedPlacements"])


def test_the_type_that_the_scheduler_refuses_is_bought_once_and_then_the_next(plane: ControlPlane):
    trials = Trials(plane)
    apply(plane, single_pod("choosy", "500m", schedulerName="choosy"))

    def is_refused() -> bool:
        trials.look()
        return bool(events(plane, "choosy"))

    plane.wait_for(is_refused, "the type is refused", 60)

    def is_bound() -> bool:
        trials.look()
        return bool(node_of(plane, "choosy"))

    plane.wait_for(is_bound, "the pod is bound", 60)
    assert trials.look() == {"cx22": 1, "cx32": 1}
    (note,) = {note for note in events(plane, "choosy") if "buys no cx22" in note}
    assert "pod default/choosy" in note
    assert "did not bind on node default-" in note
    assert ENFORCED in note


def test_a_pod_that_is_refused_everywhere_gets_few_machines_and_others_do_not_wait(plane: ControlPlane, tmp_path: Path):
    trials, growth = Trials(plane), Commands(plane, tmp_path, quick=True)
    apply(plane, single_pod("never", "500m", schedulerName="never"))
    plane.wait_for(lambda: trials.look() == {"cx22": 1, "cx32": 1}, "both types are tried", 60)
    apply(plane, single_pod("plain", "500m"))

    def is_served() -> bool:
        trials.look()
        return bool(node_of(plane, "plain"))

    plane.wait_for(is_served, "another pod is served", 60)

    def is_tried_again() -> bool:
        trials.look()
        return max(entry["failures"] for entry in remembered(plane)) > 1

    plane.wait_for(is_tried_again, "after its wait a type is tried again", 120)
    # Each type twice, and one for the other pod.
    assert sum(trials.look().values()) <= 5
    assert not node_of(plane, "never")
    told = growth.told("why", "pod", "never")
    assert "PlacementRefused" in told
    assert ENFORCED in told
    assert {entry["namespace"] for entry in remembered(plane)} == {"default"}
