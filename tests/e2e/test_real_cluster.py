"""A KwokNodeClass beside real Nodes, on a real API server: not used, unless the worker is allowed to."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import deployment
from tests.e2e.cluster_view import ClusterView
from tests.e2e.commands import Commands
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import removal

WATCHED_SECONDS = 5
PROMPT_SECONDS = 10
"""A Node that joins asks for a round, which comes within a second or two."""
CORDONED = {"unschedulable": True}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def test_it_is_not_used_while_there_is_a_real_node(control_plane: ControlPlane, tmp_path: Path):
    plane, view, commands = control_plane, ClusterView(control_plane), Commands(control_plane, tmp_path)
    with scene(plane, tmp_path, cluster="real", separate=False) as worker:
        join(plane, "cp-1", {"providerID": "hcloud://42", **CORDONED})
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(deployment("web", 2, "1500m", "1Gi", spread=True)))
        plane.wait_for(lambda: view.unschedulable() == 2, "the scheduler has judged the pods")
        worker.start()
        plane.wait_for(lambda: ready(plane) == ("False", "RealCluster"), "the class says that it is not used")
        plane.wait_for(lambda: pool_reason(plane) == "RealCluster", "so does its pool")
        time.sleep(WATCHED_SECONDS)
        assert not view.items("noderequests"), "neither pods nor the pool's minimum buy anything"
        assert set(names(plane)) == {"cp-1"}
        pod = view.pods()[0]["metadata"]["name"]
        assert "RealCluster: KwokNodeClass/default of pool default is not used: Node cp-1 is real" in commands.told(
            "why", "pod", pod
        )
        assert "Without a place: 2 RealCluster" in commands.told("status")
        assert "Nothing of it is bought: Node cp-1 is real" in commands.told("catalogue")
        lines = [line for line in worker.log().splitlines() if "is bought: Node cp-1 is real" in line]
        assert len(lines) == 1, "one line, and not one a round"
        assert "--simulated-machines" in lines[0]

        plane.kubectl("delete", "node", "cp-1")
        plane.wait_for(lambda: view.running() == 2, "without a real Node both pods have machines")
        assert ready(plane) == ("True", "NoRealNode")
        machines = view.nodes()

        # A kubelet registers before anybody gives its Node a provider id.
        join(plane, "cp-2", CORDONED, kubelet="v1.33.1")
        plane.wait_for(lambda: ready(plane) == ("False", "RealCluster"), "a kubelet is enough", PROMPT_SECONDS)
        plane.kubectl("scale", "deployment", "web", "--replicas=4", "-n", "default")
        plane.wait_for(lambda: view.unschedulable() == 2, "the scheduler has judged the further pods")
        gone, *_ = machines
        plane.kubectl("create", "-f", "-", stdin=json.dumps(ordered(view, gone)))
        plane.wait_for(lambda: gone not in view.nodes(), "a machine that is there can still be removed")
        time.sleep(WATCHED_SECONDS)
        assert set(view.nodes()) == set(machines) - {gone}, "the other one stays, and nothing comes in its place"


def test_a_worker_that_is_allowed_to_uses_it_beside_a_real_node(control_plane: ControlPlane, tmp_path: Path):
    plane, view, commands = control_plane, ClusterView(control_plane), Commands(control_plane, tmp_path)
    allowed = {"GROWTH_SIMULATED_MACHINES": "true"}
    with scene(plane, tmp_path, cluster="allowed", separate=False, environment=allowed) as worker:
        join(plane, "kind-control-plane", {"providerID": "kind://docker/kind/kind-control-plane", **CORDONED})
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(deployment("web", 2, "1500m", "1Gi", spread=True)))
        worker.start()
        plane.wait_for(lambda: view.running() == 2, "both pods have machines")
        plane.wait_for(lambda: ready(plane) == ("True", "SimulatedMachinesAllowed"), "the class says why")
        assert pool_reason(plane) == "Usable"
        assert "is real" not in worker.log()
        # A command has no such option: it goes by the class, as the worker has written it.
        plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(deployment("big", 1, "100", "1Gi")))
        plane.wait_for(lambda: view.unschedulable() == 1, "the scheduler has judged the further pod")
        assert "Without a place: 1 TooLarge" in commands.told("status")


def join(plane: ControlPlane, name: str, spec: dict[str, Any], *, kubelet: str = "") -> None:
    """Register a Node that takes no pods, as a kubelet or a person does."""
    status = {"nodeInfo": info(kubelet)} if kubelet else {}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
    plane.kubectl("create", "-f", "-", stdin=json.dumps(body))


def info(kubelet: str) -> dict[str, str]:
    """Return what a kubelet of this version says of its machine: the API server asks for all of it."""
    unsaid = ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    known = {
        "operatingSystem": "linux",
        "architecture": "amd64",
        "kubeProxyVersion": kubelet,
        "kubeletVersion": kubelet,
    }
    return dict.fromkeys(unsaid, "") | known


def names(plane: ControlPlane) -> list[str]:
    return [node["metadata"]["name"] for node in plane.api.items("nodes")]


def ordered(view: ClusterView, name: str) -> dict[str, Any]:
    """Return the removal of a machine, without a cool-off."""
    wanted = removal(view.nodes()[name])
    return wanted | {"spec": wanted["spec"] | {"immediate": True, "nodeName": name}}


def ready(plane: ControlPlane) -> tuple[str, str] | None:
    """Return status and reason of the class's condition Ready."""
    (node_class,) = plane.api.items("kwoknodeclasses")
    conditions = node_class.get("status", {}).get("conditions", [])
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == "Ready"), None)


def pool_reason(plane: ControlPlane) -> str:
    (pool,) = plane.api.items("nodepools")
    conditions = pool.get("status", {}).get("conditions", [])
    return next((each["reason"] for each in conditions if each["type"] == "Ready"), "")
