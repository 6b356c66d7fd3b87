"""What stands beside Growth's servers: Nodes of others, a type that is sold no more, and classes that cannot work."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.builders import deployment
from tests.e2e.cluster_view import NAMESPACE
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, hetzner_scene, pool

ROBOT, GHOST = "robot", "ghost"
GONE = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "its server is gone"}
"""Without it, the scheduler would use a Node that nobody plays for its first minute."""
BAD = {
    "token-unknown": ("InvalidToken", "spec.tokenSecretRef"),
    "token-read-only": ("ReadOnlyToken", "spec.tokenSecretRef"),
    "image": ("ImageNotFound", "no-such-image"),
    "network": ("NetworkNotFound", "no-such-network"),
    "location": ("LocationNotFound", "no-such-location"),
    "user-data": ("InvalidUserData", "32768"),
}
"""What is wrong with a class: the reason that it must tell, and a word that leads to the cause."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_nodes_of_others_are_used_and_kept_and_a_withdrawn_type_stops_its_own_pool_only(
    control_plane: ControlPlane, tmp_path: Path
):
    with hetzner_scene(control_plane, tmp_path, cluster="hetzner-beside", quick=True) as scene:
        scene.cloud.withdraw("cx43", None, datetime.now(UTC))
        token = scene.add_project()
        for name in ("default", "old"):
            scene.add_class(name, token)
        scene.apply(_foreign(ROBOT, "hrobot://123", ready=True), _foreign(GHOST, "hcloud://999999", ready=False))
        uids = _uids(scene)
        scene.growth.start()
        for name in ("default", "old"):
            scene.wait_looked_up(name)
        eager = {"idleAfter": "1s", "softGrace": "1s"}
        scene.apply(pool("default", ["cx23"], scaleDown=eager), pool("old", ["cx43"], scaleDown=eager))
        scene.plane.wait_for(lambda: _is_ready(scene, ROBOT), "the dedicated server is Ready")
        withdrawn = deployment("withdrawn", 1, "400m", "512Mi")
        withdrawn["spec"]["template"]["spec"]["nodeSelector"] = {"growth.dev/pool": "old"}
        scene.apply(withdrawn, deployment("web", 2, "400m", "512Mi", spread=True))
        scene.wait_running(2)
        ours = scene.view.nodes()
        assert len(ours) == 1, "the dedicated server counts as capacity"
        assert {pod["spec"].get("nodeName") for pod in scene.view.pods()} == {ROBOT, *ours, None}
        (waiting,) = (p["metadata"]["name"] for p in scene.view.pods() if p["metadata"]["labels"]["app"] == "withdrawn")
        told = scene.commands.told("why", "pod", waiting)
        line = next((line for line in told.splitlines() if "OfferingUnavailable" in line), "")
        assert "cx43 in fsn1 is no longer sold since" in line, told
        scene.plane.kubectl("delete", "deployment", "web", "-n", "default", "--wait=true")
        scene.plane.wait_for(lambda: not scene.view.nodes(), "the idle machine goes")
        scene.plane.wait_for(lambda: not scene.view.servers(), "its server goes")
        assert _uids(scene) == uids, "Nodes of others are kept"
        assert not [request for request in scene.view.items("noderemovalrequests") if _names_foreign(request)]
        assert scene.calls()["create_server"] == 1
        print(f"\nbeside {ROBOT} and {GHOST}: 1 server for 2 pods, both Nodes kept; growth why pod:\n{line}")


def test_classes_that_cannot_work_say_why_and_cost_no_create_call(control_plane: ControlPlane, tmp_path: Path):
    with hetzner_scene(control_plane, tmp_path, cluster="hetzner-bad", quick=True) as scene:
        good = scene.add_project()
        _bad_classes(scene, good)
        scene.add_class("default", good)
        scene.apply(pool("default", ["cx23"]), *(pool(name, ["cx23"], limits={"min": 1, "max": 2}) for name in BAD))
        scene.apply(deployment("web", 2, "400m", "512Mi", spread=True))
        scene.growth.start()
        scene.wait_running(2)
        scene.plane.wait_for(lambda: all(scene.condition(name) for name in BAD), "all classes were looked up")
        for name, (reason, word) in BAD.items():
            ready = scene.condition(name)
            assert (ready["status"], ready["reason"]) == ("False", reason), name
            assert word in ready["message"], name
            assert "\n" not in ready["message"]
        table = scene.plane.kubectl("get", "hetznernodeclasses", "-o", "wide")
        lines = {line.split()[0]: line for line in table.splitlines()}
        assert all(" False " in lines[name] and reason in lines[name] for name, (reason, _) in BAD.items())
        assert " True " in lines["default"]
        assert scene.view.servers() == set(scene.view.nodes())
        assert scene.calls()["create_server"] == len(scene.view.nodes()) == 2
        print(f"\nkubectl get hetznernodeclasses -o wide:\n{table}")


def _bad_classes(scene: HetznerScene, good: dict[str, str]) -> None:
    scene.add_class("token-unknown", scene.add_project(access="none"))
    scene.add_class("token-read-only", scene.add_project(access="read_only"))
    scene.add_class("image", good, image={"name": "no-such-image"})
    scene.add_class("network", good, networks=[{"name": "no-such-network"}])
    scene.add_class("location", good, locations=["no-such-location"])
    long = {"text": "#!/bin/sh\nkubelet {{ kubelet.args }}\n" + "#" * 32 * 1024}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "long", "namespace": NAMESPACE}, "data": long}
    scene.plane.kubectl("create", "-f", "-", stdin=json.dumps(body))
    reference = {"namespace": NAMESPACE, "name": "long", "key": "text"}
    scene.add_class("user-data", good, userData={"configMapKeyRef": reference})


def _foreign(name: str, provider_id: str, *, ready: bool) -> dict[str, Any]:
    """Return a Node without Growth's labels; KWOK plays the kubelet of one that becomes Ready."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {"kwok.x-k8s.io/node": "fake"} if ready else {},
        },
        "spec": {"providerID": provider_id},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [] if ready else [GONE]},
    }


def _nodes(scene: HetznerScene) -> dict[str, dict[str, Any]]:
    return {node["metadata"]["name"]: node for node in scene.view.items("nodes")}


def _uids(scene: HetznerScene) -> dict[str, str]:
    return {name: node["metadata"]["uid"] for name, node in _nodes(scene).items() if name in (ROBOT, GHOST)}


def _is_ready(scene: HetznerScene, name: str) -> bool:
    conditions = _nodes(scene)[name]["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _names_foreign(request: dict[str, Any]) -> bool:
    return request["spec"]["serverName"] in (ROBOT, GHOST)
