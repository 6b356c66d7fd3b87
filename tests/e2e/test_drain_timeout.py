"""Drains that a round orders, on a real control plane: given up under a real budget, forced past it, and remove-now."""

import json
from pathlib import Path

import pytest

from tests.builders import as_sent, deployment, disruption_budget, node_pool
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.test_drain import Drains
from tests.e2e.workloads import NAMESPACE, removal

SCALE_DOWN = {"mode": "drain", "idleAfter": "10m", "softGrace": "0s", "drainTimeout": "15s"}
POOL = as_sent(node_pool(types=["cx22"], limits={"max": 10}, scaleDown=SCALE_DOWN))
BUDGET = as_sent(disruption_budget("web", namespace=NAMESPACE, minAvailable=2))
PAUSE = "growth.dev/drain-pause"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_drain_is_given_up_or_forced_in_time(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="limits", separate=False, quick=True) as growth:
        plane.replace(POOL)
        drains = Drains(plane)
        drains.create(deployment("web", 2, "500m", "256Mi", spread=True))
        drains.create(BUDGET)
        growth.start()
        plane.wait_for(lambda: len(drains.pods()) == 2, "both pods run")
        plane.wait_for(lambda: set(drains.view.phases("noderequests")) == {"Ready"}, "their machines are Ready")
        name = min(node for _, node in drains.pods().values())
        _it_is_given_up(drains, name)
        _it_is_forced(drains, name)
        _an_empty_one_goes_now(drains)


def _order(drains: Drains, name: str) -> None:
    body = removal(drains.view.nodes()[name])
    body["spec"]["reason"] = "Consolidation"
    drains.create(body)


def _it_is_given_up(drains: Drains, name: str) -> None:
    before = drains.pods()
    for length in ("15m", "30m"):
        _order(drains, name)
        status = drains.until_reason(name, "BlockedByBudget")
        assert "The disruption budget web needs 2 healthy pods and has 2 currently" in status["message"]
        drains.plane.wait_for(lambda: not drains.status(name), "the removal has ended")
        assert drains.taints(name) == []
        assert drains.view.nodes()[name]["metadata"]["annotations"][PAUSE].endswith(f"Z {length}")
    assert drains.pods() == before
    assert "DrainTimedOut: Not drained by" in drains.events(name)


def _it_is_forced(drains: Drains, name: str) -> None:
    before = drains.pods()
    change = json.dumps({"spec": {"scaleDown": {"terminationGracePeriod": "45s"}}})
    drains.plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", change)
    _order(drains, name)
    drains.until_gone(name)
    events = drains.events(name)
    assert "ForcedLater" in events
    assert "terminationGracePeriod ends at" in events
    drains.plane.wait_for(lambda: len(drains.pods()) == 2, "both pods run again")
    assert len(set(before) & set(drains.pods())) == 1, "the pod on the other machine was not touched"


def _an_empty_one_goes_now(drains: Drains) -> None:
    plane = drains.plane
    plane.kubectl("delete", "poddisruptionbudget", "web", "-n", NAMESPACE)
    name = min(node for _, node in drains.pods().values())
    plane.kubectl("taint", "node", name, "growth.dev/remove-now=:NoSchedule")
    plane.kubectl(
        "patch", "nodepools.growth.dev", "default", "--type=merge", "-p", '{"spec":{"scaleDown":{"mode":"none"}}}'
    )
    assert name in drains.view.nodes()
    plane.kubectl("delete", "deployment", "web", "-n", NAMESPACE)
    drains.until_gone(name)
