"""What machines and people leave behind: found and mended by the worker's sweeps, and `growth purge` for all of it."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.cluster_view import NAMESPACE, ClusterView
from tests.e2e.commands import Commands
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene

CLUSTER = "healing"
ORPHAN, FOREIGN = "default-0000000001", "default-0000000002"
TWO_SWEEPS = 30
"""Seconds: a sighting, another one two sweeps of 1.5 s later, and the removal that it begins."""
PURGED_SECONDS = 60

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def plant(plane: ControlPlane, name: str, cluster: str) -> None:
    """Leave a server an hour old whose request nobody knows; its Node was there once and is gone."""
    uid = plane.kubectl("get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}").strip()
    an_hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    record = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {
                "growth.dev/kwok-server": "true",
                "growth.dev/cluster": cluster,
                "growth.dev/cluster-uid": uid,
                "growth.dev/pool": "default",
                "growth.dev/server-type": "cx22",
                "growth.dev/request": name,
                "growth.dev/request-uid": "5f0c1d7e-0000-4000-8000-000000000000",
            },
        },
        "data": {
            "serverType": "cx22",
            "location": "fsn1",
            "class": "default",
            "created": an_hour_ago,
            "runsAt": an_hour_ago,
            "node": "{}",
            "joined": "true",
        },
    }
    plane.kubectl("create", "-f", "-", stdin=json.dumps(record))


def reasons(view: ClusterView) -> set[tuple[str, str, str]]:
    events = view.items("events", "default")
    return {(one["involvedObject"]["kind"], one["involvedObject"]["name"], one["reason"]) for one in events}


def test_leftovers_are_mended_and_a_purge_leaves_nothing(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    view, growth = ClusterView(plane), Commands(plane, tmp_path, quick=True)
    with scene(plane, tmp_path, cluster=CLUSTER, separate=False, quick=True) as worker:
        worker.start()
        plane.wait_for(lambda: view.phases("noderequests") == ["Ready"], "the pool's minimum is Ready")
        (machine,) = view.nodes()
        plane.wait_for(lambda: not taints(view, machine), "it is open")
        mended(plane, view, machine)
        purged(plane, view, growth, machine, ("--cluster", CLUSTER, "--data-dir", str(tmp_path / "data")))


def mended(plane: ControlPlane, view: ClusterView, machine: str) -> None:
    plant(plane, ORPHAN, CLUSTER)
    plant(plane, FOREIGN, "another")
    plane.kubectl(
        "taint", "nodes", machine, "growth.dev/reserved=gone:NoSchedule", "growth.dev/scale-down=1:NoSchedule"
    )
    plane.wait_for(lambda: ORPHAN not in view.servers(), "the orphan is gone", TWO_SWEEPS)
    plane.wait_for(lambda: not taints(view, machine), "both taints are lifted", TWO_SWEEPS)
    assert view.servers() == {machine, FOREIGN}
    assert set(view.nodes()) == {machine}
    expected = {
        ("NodeRemovalRequest", ORPHAN, "Orphan"),
        ("Node", machine, "StaleReservation"),
        ("Node", machine, "StaleScaleDown"),
    }
    # Each is told after it is done.
    plane.wait_for(lambda: reasons(view) >= expected, "events tell of all three", 10)


def purged(plane: ControlPlane, view: ClusterView, growth: Commands, machine: str, where: tuple[str, ...]) -> None:
    told = growth.told("purge", *where)
    assert told.startswith(f"Cluster {CLUSTER}: 1 server at 0.0060 EUR per hour\n")
    assert "workflows" in told
    assert "Nothing was removed: a worker of cluster healing is up and would buy again: stop it" in told
    refused = growth.run("purge", *where, "--yes")
    assert refused.returncode == 1
    assert refused.stderr.startswith("growth: nothing was removed: a worker of cluster healing is up and would buy")
    assert refused.stderr.count("\n") == 1
    assert view.servers() == {machine, FOREIGN}

    began = time.monotonic()
    # A server that was asked for a moment ago may still appear: it waits for that, a minute of the product.
    told = growth.told("purge", *where, "--pools", "--yes", within=PURGED_SECONDS)
    print(f"\npurged in {time.monotonic() - began:.1f} s")
    assert "1 of 1 server gone\n" in told
    assert told.endswith(f"Cluster {CLUSTER} is purged\n")
    kinds = "nodepools.growth.dev,kwoknodeclasses,noderequests,noderemovalrequests"
    assert plane.kubectl("get", kinds, "-o", "name") == ""
    assert view.servers() == {FOREIGN}
    assert view.nodes() == {}


def taints(view: ClusterView, machine: str) -> list[str]:
    found = view.nodes()[machine]["spec"].get("taints", [])
    return [taint["key"] for taint in found if taint["key"].startswith("growth.dev/")]
