"""Pods to machines and back on a real control plane, also when the worker is killed in the middle."""

import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster_view import PLANNED_KINDS, ClusterView
from tests.e2e.growth_process import ROOT, GrowthProcess
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import SIZES, sixty_pods

PODS = sum(replicas for replicas, _, _ in SIZES.values())
BURST_SECONDS = 120
RETURN_SECONDS = 120

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]


def planned_offline(view: ClusterView, folder: Path) -> dict[str, object]:
    """Return what `growth plan` says about a dump of the cluster."""
    objects = [item for kind in PLANNED_KINDS for item in view.items(kind)]
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    command = [Path(sys.prefix) / "bin" / "growth", "plan", "-f", str(dump), "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("separate", "kill"),
    [
        pytest.param(True, False, id="separate Temporal", marks=pytest.mark.nightly),
        pytest.param(True, True, id="separate Temporal, worker killed"),
        pytest.param(False, True, id="embedded Temporal, worker killed"),
    ],
)
def test_sixty_pods_get_their_machines_and_give_them_back(
    control_plane: ControlPlane, tmp_path: Path, *, separate: bool, kill: bool
):
    plane = control_plane
    with scene(plane, tmp_path, cluster=f"trip-{separate}-{kill}".lower(), separate=separate) as growth:
        plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(sixty_pods()))
        view = ClusterView(plane)
        plane.wait_for(lambda: view.unschedulable() == PODS, "all pods are unschedulable")
        expected = planned_offline(view, tmp_path)
        assert expected["result"] == "AllPlaced"
        began = time.monotonic()
        growth.start()
        _up(plane, view, growth, kill=kill)
        up_seconds = time.monotonic() - began
        _check_as_planned(view, expected)
        began = time.monotonic()
        _down(plane, view, growth, kill=kill)
        print(
            f"\n{PODS} pods on {len(view.servers_ever)} machines for {expected['costPerHour']} EUR/h:"
            f" up in {up_seconds:.1f} s, down in {time.monotonic() - began:.1f} s (worker killed: {kill})"
        )


def _up(plane: ControlPlane, view: ClusterView, growth: GrowthProcess, *, kill: bool) -> None:
    if kill:
        plane.wait_for(lambda: "Provisioning" in view.phases("noderequests"), "a machine is on its way")
        growth.kill()
        growth.start()
    plane.wait_for(lambda: view.running() == PODS, f"{PODS} pods run", BURST_SECONDS)
    plane.wait_for(lambda: set(view.phases("noderequests")) == {"Ready"}, "all requests are Ready")
    plane.wait_for(lambda: not _growth_taints(view), "all machines are open to all pods")


def _check_as_planned(view: ClusterView, expected: dict[str, object]) -> None:
    view.look()
    landed = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in view.pods()}
    assert landed == view.planned
    assert view.cost_per_hour() == Decimal(str(expected["costPerHour"]))
    assert len(view.nodes()) == len(expected["requests"])  # type: ignore[arg-type]
    assert view.servers_ever == view.servers() == set(view.nodes()) == view.requests_ever


def _down(plane: ControlPlane, view: ClusterView, growth: GrowthProcess, *, kill: bool) -> None:
    bought = set(view.servers_ever)
    plane.kubectl("scale", "deployments", "--all", "--replicas=0", "-n", "default")
    if kill:
        plane.wait_for(lambda: bool(view.items("noderemovalrequests")), "a cool-off has begun")
        growth.kill()
        growth.start()
    plane.wait_for(lambda: len(view.nodes()) == 1, "only the minimum is left", RETURN_SECONDS)
    plane.wait_for(lambda: not view.items("noderemovalrequests"), "all removals have ended")
    (left,) = view.nodes().values()
    assert left["metadata"]["labels"]["growth.dev/server-type"] == "cx22"
    assert view.servers() == {left["metadata"]["name"]}
    assert not _growth_taints(view)
    view.look()
    assert view.servers_ever == bought, "a machine was bought after the load had left"


def _growth_taints(view: ClusterView) -> list[str]:
    taints = (taint for node in view.nodes().values() for taint in node["spec"].get("taints", []))
    return [taint["key"] for taint in taints if taint["key"].startswith("growth.dev/")]
