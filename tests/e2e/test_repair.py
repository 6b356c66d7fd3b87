"""A machine whose kubelet dies on a real control plane: its pod cannot end, and its server goes all the same."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.meta import format_timestamp
from tests.builders import as_sent, deployment, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains

POOL = as_sent(
    node_pool(
        types=["cx22"],
        limits={"max": 10},
        scaleDown={"idleAfter": "10m", "softGrace": "0s", "repair": {"after": "5s"}},
    )
)
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_machine_with_a_dead_kubelet_goes_and_its_pod_is_not_forced(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="repair", separate=False, quick=True) as growth:
        plane.replace(POOL)
        drains = Drains(plane)
        # While most Nodes are not Ready, neither Kubernetes' node controller nor Growth does anything about one.
        body = deployment("web", 3, "500m", "256Mi", spread=True)
        body["spec"]["template"]["spec"] |= {
            "terminationGracePeriodSeconds": 1,
            "tolerations": [UNREACHABLE | {"tolerationSeconds": 1}],
        }
        drains.create(body)
        growth.start()
        plane.wait_for(lambda: len(drains.pods()) == 3, "all pods run")
        plane.wait_for(lambda: set(drains.view.phases("noderequests")) == {"Ready"}, "their machines are Ready")
        pod, (uid, name) = min(drains.pods().items())
        # Who ends pods is dead from now on; Kubernetes' node controller would take 50 s to say so, of each Node.
        plane.stop("kwok")
        try:
            plane.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps(_silent()))
            plane.wait_for(lambda: _is_terminating(drains, pod), "Kubernetes asks the pod to end")
            drains.until_gone(name)
            (left,) = (each for each in drains.view.pods() if each["metadata"]["name"] == pod)
            assert left["metadata"]["uid"] == uid, "nobody but Kubernetes ends the pod of a Node that is gone"
        finally:
            plane.start("kwok")
            plane.kubectl("delete", "pod", pod, "-n", "default", "--force", "--grace-period=0", "--ignore-not-found")
        events = plane.kubectl("events", "--for", f"noderemovalrequest/{name}")
        assert "The node is dead and 1 pod cannot end" in events
        plane.wait_for(lambda: len(drains.pods()) == 3, "all pods run again")


def _silent() -> dict[str, Any]:
    now = format_timestamp(datetime.now(UTC).replace(microsecond=0))
    condition = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
    return {"status": {"conditions": [condition]}}


def _is_terminating(drains: Drains, name: str) -> bool:
    return any(pod["metadata"]["name"] == name and "deletionTimestamp" in pod["metadata"] for pod in drains.view.pods())
