"""Consolidation on a real control plane: of two half-empty machines one is left, once a window lets the other go."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import as_sent, deployment, disruption_budget, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.e2e.workloads import NAMESPACE

CONSOLIDATES = {"after": "1s"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def pool(**scale_down: Any) -> dict[str, Any]:
    how = {"mode": "drain", "idleAfter": "10m", "softGrace": "0s", "consolidate": CONSOLIDATES} | scale_down
    return as_sent(node_pool(types=["cx22"], limits={"max": 10}, scaleDown=how))


def closed() -> dict[str, Any]:
    """Return a budget whose window is open now, and lets none go for consolidation."""
    now = datetime.now(UTC)
    start, end = (f"{now + timedelta(hours=hours):%H:%M}" for hours in (-1, 2))
    return {"nodes": 0, "reasons": ["Consolidation"], "start": start, "end": end}


def half_empty(pods: Drains) -> list[str]:
    """Create four pods on two machines, let two of them leave, and return the machines, each with one pod."""
    pods.create(deployment("web", 4, "900m", "256Mi"))
    pods.plane.wait_for(lambda: pods.view.running() == 4, "four pods run", seconds=60)
    # Of the pods of a ReplicaSet those go first that cost least to delete: here one of each machine.
    for name in {node: name for name, (_, node) in pods.pods().items()}.values():
        pods.plane.kubectl("annotate", "pod", name, "-n", NAMESPACE, "controller.kubernetes.io/pod-deletion-cost=-1")
    pods.plane.kubectl("scale", "deployment", "web", "--replicas=2")
    pods.plane.wait_for(
        lambda: len(pods.pods()) == 2 and len({node for _, node in pods.pods().values()}) == 2, "one pod on each"
    )
    return sorted(pods.view.nodes())


def test_two_half_empty_machines_become_one(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="fewer", separate=False, quick=True) as growth:
        plane.replace(pool(budgets=[closed()]))
        pods = Drains(plane)
        growth.start()
        # The real disruption controller lets one of them go at a time.
        pods.create(as_sent(disruption_budget("web", namespace=NAMESPACE, minAvailable=1)))
        before = half_empty(pods)
        assert len(before) == 2
        time.sleep(5)
        assert not pods.view.items("noderemovalrequests"), "nothing goes while a window lets none go"
        plane.replace(pool())
        plane.wait_for(lambda: len(pods.view.nodes()) == 1 and len(pods.view.servers()) == 1, "one machine is left")
        (left,) = pods.view.nodes()
        plane.wait_for(lambda: [node for _, node in pods.pods().values()] == [left, left], "both pods run there")
        assert left in before
        assert pods.view.requests_ever <= set(before), "nothing was bought for it"
