"""A machine leaves whole on a real control plane: off load balancers, and with its volumes detached."""

from pathlib import Path

import pytest

from tests.builders import as_sent, deployment, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains

LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
POOL = as_sent(
    node_pool(types=["cx22"], limits={"max": 10}, scaleDown={"mode": "drain", "idleAfter": "10m", "softGrace": "0s"})
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_server_stays_until_balancers_and_volumes_have_let_it_go(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="leave", separate=False, quick=True) as growth:
        plane.replace(POOL)
        drains = Drains(plane)
        drains.create(deployment("web", 1, "500m", "256Mi"))
        growth.start()
        plane.wait_for(lambda: len(drains.pods()) == 1, "the pod runs")
        plane.wait_for(lambda: set(drains.view.phases("noderequests")) == {"Ready"}, "its machine is Ready")
        ((_, name),) = drains.pods().values()
        attachment = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": "csi-leaving"},
            "spec": {"attacher": "csi.example", "nodeName": name, "source": {"persistentVolumeName": "pv-leaving"}},
        }
        drains.create(attachment)
        try:
            drains.remove(name)
            status = drains.until_reason(name, "VolumesDetach")
            assert status["phase"] == "Deprovisioning"
            assert status["message"].startswith("Waits for 1 volumes to detach until ")
            assert status["message"].endswith(" UTC: pv-leaving")
            assert drains.view.nodes()[name]["metadata"]["labels"][LABEL] == "growth"
            assert name in drains.view.servers()
            assert "LeavesLoadBalancers" in [event["name"] for event in status["events"]]
        finally:
            plane.kubectl("delete", "volumeattachment", "csi-leaving")
        drains.until_gone(name)
