"""Pods to Hetzner servers and back: a real worker on a real control plane, the cloud alone is a fake over HTTP."""

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, hetzner_scene, paid, pool_of_file
from tests.e2e.workloads import SIZES, sixty_pods

PODS = sum(replicas for replicas, _, _ in SIZES.values())
MOST_CALLS = 6
"""For the whole life of a machine. Source: docs/hetzner.md, "Calls"."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "kill",
    [
        pytest.param(False, id="plain", marks=pytest.mark.nightly),
        pytest.param(True, id="worker killed, late controller"),
    ],
)
def test_sixty_pods_get_their_servers_and_give_them_back(control_plane: ControlPlane, tmp_path: Path, *, kill: bool):
    """With `kill`, the worker dies in the middle of both ways, and Nodes are initialised 5 s after they join."""
    plane, delay = control_plane, 5.0 if kill else None
    with hetzner_scene(plane, tmp_path, cluster=f"hetzner-{kill}".lower(), controller_delay_seconds=delay) as scene:
        scene.add_class("default", scene.add_project())
        scene.growth.start()
        scene.wait_looked_up()
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(sixty_pods()))
        plane.wait_for(lambda: scene.view.unschedulable() == PODS, "all pods are unschedulable")
        expected = scene.planned(pool_of_file())
        assert expected["result"] == "AllPlaced"
        began = time.monotonic()
        scene.apply(pool_of_file())
        _up(scene, kill=kill)
        up_seconds = time.monotonic() - began
        _check_as_planned(scene, expected)
        began = time.monotonic()
        _down(scene, kill=kill)
        down_seconds = time.monotonic() - began
        machines = len(scene.view.servers_ever)
        per_machine = scene.machine_calls() / machines
        print(
            f"\n{PODS} pods on {machines} servers for {expected['costPerHour']} EUR/h: up in {up_seconds:.1f} s,"
            f" down in {down_seconds:.1f} s (worker killed: {kill}); {per_machine:.1f} calls per machine:"
            f" {dict(scene.calls())}"
        )
        assert per_machine <= MOST_CALLS
        # Of a call that was on its way when the worker died nobody got the reply: the next one is refused by the name.
        assert scene.calls()["create_server"] - machines in ({0, 1} if kill else {0}), "no call was repeated"


def _up(scene: HetznerScene, *, kill: bool) -> None:
    if kill:
        scene.plane.wait_for(lambda: "Provisioning" in scene.view.phases("noderequests"), "a machine is on its way")
        scene.growth.kill()
        scene.growth.start()
    scene.wait_running(PODS, 120)
    scene.plane.wait_for(lambda: set(scene.view.phases("noderequests")) == {"Ready"}, "all requests are Ready")
    scene.plane.wait_for(lambda: not _growth_taints(scene), "all machines are open to all pods")


def _check_as_planned(scene: HetznerScene, expected: dict[str, Any]) -> None:
    view = scene.view
    view.look()
    landed = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in view.pods()}
    assert landed == view.planned
    assert view.cost_per_hour() == Decimal(str(expected["costPerHour"]))
    nodes = view.nodes()
    assert len(nodes) == len(expected["requests"])
    assert view.servers_ever == view.servers() == set(nodes) == view.requests_ever
    # Source: what the cloud itself will bill, address included.
    billed = {server.name: server.price_per_hour for server in scene.cloud.servers_of()}
    assert {name: paid(node) for name, node in nodes.items()} == billed
    assert {node["metadata"]["annotations"]["growth.dev/currency"] for node in nodes.values()} == {"EUR"}
    ids = {server.name: f"hcloud://{server.id}" for server in scene.cloud.servers_of()}
    assert {name: node["spec"]["providerID"] for name, node in nodes.items()} == ids


def _down(scene: HetznerScene, *, kill: bool) -> None:
    plane, view = scene.plane, scene.view
    bought = set(view.servers_ever)
    plane.kubectl("scale", "deployments", "--all", "--replicas=0", "-n", "default")
    if kill:
        plane.wait_for(lambda: bool(view.items("noderemovalrequests")), "a cool-off has begun")
        scene.growth.kill()
        scene.growth.start()
    plane.wait_for(lambda: len(view.nodes()) == 1, "only the minimum is left", 120)
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "all removals have ended")
    (left,) = view.nodes()
    assert view.types() == {"cx23": 1}
    assert view.servers() == {left}
    assert not _growth_taints(scene)
    view.look()
    assert view.servers_ever == bought, "a machine was bought after the load had left"


def _growth_taints(scene: HetznerScene) -> list[str]:
    taints = (taint for node in scene.view.nodes().values() for taint in node["spec"].get("taints", []))
    return [taint["key"] for taint in taints if taint["key"].startswith("growth.dev/")]
