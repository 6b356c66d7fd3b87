"""Slow is not lost, on the real control plane: what starts slowly is not bought again.

With durations a tenth as long: a reservation lasts 6 s here, and each of these takes longer.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.builders import as_sent, deployment, kwok_node_class, node_pool, server_type
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains

SECONDS = 12
"""Twice a reservation."""
TAINT = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
STARTS = {
    "not Ready": {"readyAfter": f"{SECONDS}s"},
    "a start-up taint": {"taints": [TAINT], "taintsFor": f"{SECONDS}s"},
}
POOL = as_sent(node_pool(types=["cx22"], limits={"max": 10}, scaleUp={"joinTimeout": "60s"}))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.mark.parametrize("startup", STARTS.values(), ids=STARTS)
def test_a_node_that_starts_slowly_is_not_bought_again(control_plane: ControlPlane, tmp_path: Path, startup):
    plane = control_plane
    with scene(plane, tmp_path, cluster="slow", separate=False, quick=True) as growth:
        slow = as_sent(kwok_node_class(server_type("cx22", startup=startup)))
        for item in (slow, POOL):
            plane.replace(item)
        pods = Drains(plane)
        pods.create(deployment("web", 2, "500m", "256Mi"))
        growth.start()
        plane.wait_for(lambda: len(pods.view.nodes()) == 1, "its Node has joined")
        joined = time.monotonic()
        plane.wait_for(lambda: len(pods.pods()) == 2, "its pods run", seconds=60)
        assert time.monotonic() - joined > SECONDS - 3, "the Node took its time"
        plane.wait_for(lambda: set(pods.view.phases("noderequests")) == {"Ready"}, "its request says so")
        assert len(pods.view.servers()) == 1


def test_a_scheduler_that_stands_still_has_nothing_bought_again(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="still", separate=False, quick=True) as growth:
        plane.replace(POOL)
        pods = Drains(plane)
        pods.create(deployment("web", 2, "500m", "256Mi"))
        plane.wait_for(lambda: pods.view.unschedulable() == 2, "the scheduler has refused both")
        scheduler = plane.pid("kube-scheduler")
        os.kill(scheduler, signal.SIGSTOP)
        try:
            growth.start()
            plane.wait_for(lambda: set(pods.view.phases("noderequests")) == {"Ready"}, "its machine is Ready")
            time.sleep(SECONDS)
            assert len(pods.view.servers()) == 1
        finally:
            os.kill(scheduler, signal.SIGCONT)
        plane.wait_for(lambda: len(pods.pods()) == 2, "its pods run", seconds=60)
        assert len(pods.view.servers()) == 1
