"""Pods to machines and back on a real control plane, also when the worker is killed in the middle."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.e2e.cluster_view import OBJECTS, ClusterView
from tests.e2e.growth_process import ROOT, GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.workloads import SIZES, sixty_pods

PODS = sum(replicas for replicas, _, _ in SIZES.values())
BURST_SECONDS = 120
RETURN_SECONDS = 120

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]


def planned_offline(view: ClusterView, folder: Path) -> dict[str, object]:
    """Return what `growth plan` says about a dump of the cluster."""
    objects = [*view.items("pods,nodes,daemonsets", "-A"), *view.items("nodepools,kwoknodeclasses")]
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    command = [Path(sys.prefix) / "bin" / "growth", "plan", "-f", str(dump), "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def scenario(plane: ControlPlane) -> Iterator[ClusterView]:
    """Set up pool, class and 60 pods that nothing can take; leave an empty cluster behind."""
    plane.apply_definitions()
    for name in ("class.yaml", "pool.yaml"):
        plane.kubectl("apply", "-f", str(OBJECTS / name))
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(sixty_pods()))
    view = ClusterView(plane)
    try:
        plane.wait_for(lambda: view.unschedulable() == PODS, "all pods are unschedulable")
        yield view
    finally:
        plane.kubectl("delete", "deployments", "--all", "-n", "default", "--wait=true")
        plane.kubectl("delete", "nodepools", "--all", "--wait=true", "--timeout=60s")
        plane.kubectl("delete", "noderequests,noderemovalrequests", "--all", "--wait=true", "--timeout=60s")
        plane.kubectl("delete", "nodes", "--all")
        plane.kubectl("delete", "configmaps", "-n", "growth-system", "-l", "growth.dev/request", "--wait=true")
        plane.kubectl("delete", "kwoknodeclasses", "--all")


@pytest.mark.parametrize(
    ("separate", "kill"),
    [(True, False), (True, True), (False, True)],
    ids=["separate Temporal", "separate Temporal, worker killed", "embedded Temporal, worker killed"],
)
def test_sixty_pods_get_their_machines_and_give_them_back(
    control_plane: ControlPlane, tmp_path: Path, *, separate: bool, kill: bool
):
    temporal = TemporalServer(tmp_path) if separate else None
    growth = GrowthProcess(
        control_plane,
        tmp_path,
        cluster=f"trip-{separate}-{kill}".lower(),
        address=None if temporal is None else temporal.address,
    )
    try:
        with scenario(control_plane) as view:
            expected = planned_offline(view, tmp_path)
            assert expected["result"] == "AllPlaced"
            began = time.monotonic()
            growth.start()
            _up(control_plane, view, growth, kill=kill)
            up_seconds = time.monotonic() - began
            _check_as_planned(view, expected)
            began = time.monotonic()
            _down(control_plane, view, growth, kill=kill)
            print(
                f"\n{PODS} pods on {len(view.servers_ever)} machines for {expected['costPerHour']} EUR/h:"
                f" up in {up_seconds:.1f} s, down in {time.monotonic() - began:.1f} s (worker killed: {kill})"
            )
    except BaseException:
        print(growth.tail())
        raise
    finally:
        growth.kill()
        if temporal is not None:
            temporal.kill()


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
