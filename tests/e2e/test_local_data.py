"""Data on one machine alone on a real control plane: its volume is bound by the real controller and keeps it."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import as_sent, deployment, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.e2e.workloads import NAMESPACE

POOL = as_sent(
    node_pool(types=["cx22"], limits={"max": 10}, scaleDown={"mode": "drain", "idleAfter": "3s", "softGrace": "1s"})
)
AMOUNT = {"storage": "1Gi"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def local_volume(name: str, host: str) -> dict[str, Any]:
    """Return a static local volume of the host, for the claim of its name."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": AMOUNT,
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "by-hand",
            "claimRef": {"namespace": NAMESPACE, "name": name},
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        },
    }


def claim(name: str) -> dict[str, Any]:
    """Return the claim to the volume of its name."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "by-hand",
            "volumeName": name,
            "resources": {"requests": AMOUNT},
        },
    }


def test_a_machine_stays_for_the_data_on_it_and_goes_without(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="data", separate=False, quick=True) as growth:
        plane.replace(POOL)
        drains = Drains(plane)
        drains.create(deployment("web", 1, "500m", "256Mi"))
        growth.start()
        plane.wait_for(lambda: len(drains.pods()) == 1, "the pod runs")
        plane.wait_for(lambda: set(drains.view.phases("noderequests")) == {"Ready"}, "its machine is Ready")
        ((_, name),) = drains.pods().values()
        for body in (claim("data-db-0"), local_volume("data-db-0", name)):
            drains.create(body)
        try:
            plane.wait_for(lambda: _phase(drains) == "Bound", "the claim is bound")
            plane.kubectl("scale", "deployment", "web", "-n", NAMESPACE, "--replicas=0")
            why = f"volume data-db-0 of claim {NAMESPACE}/data-db-0"
            plane.wait_for(
                lambda: why in plane.kubectl("events", "--for", f"node/{name}"), "an event says why it stays"
            )
            assert "HasLocalData" in plane.kubectl("events", "--for", f"node/{name}")
            assert not drains.status(name)
            _a_person_hears_of_it_and_changes_their_mind(drains, name, why)
        finally:
            plane.kubectl("delete", "pvc", "data-db-0", "-n", NAMESPACE)
        drains.until_gone(name)
        plane.kubectl("delete", "pv", "data-db-0", "--ignore-not-found")


def _a_person_hears_of_it_and_changes_their_mind(drains: Drains, name: str, why: str) -> None:
    drains.remove(name)
    status = drains.until_reason(name, "HasLocalData")
    assert why in status["message"]
    assert "growth.dev/delete-local-data=true" in status["message"]
    assert "growth.dev/scale-down" not in drains.taints(name)
    assert name in drains.view.servers()
    drains.plane.kubectl("delete", "noderemovalrequest", name, "--timeout=60s")
    assert name in drains.view.servers()


def _phase(drains: Drains) -> str:
    return drains.plane.kubectl("get", "pvc", "data-db-0", "-n", NAMESPACE, "-o", "jsonpath={.status.phase}")
