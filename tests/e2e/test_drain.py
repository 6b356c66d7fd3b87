"""Drains on a real control plane: budgets of the real disruption controller, pods that must stay, a change of mind."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import as_sent, deployment, disruption_budget, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.scene import scene
from tests.e2e.workloads import NAMESPACE, removal, single_pod

POOL = as_sent(
    node_pool(types=["cx22"], limits={"max": 10}, scaleDown={"mode": "drain", "idleAfter": "10m", "softGrace": "0s"})
)
BUDGET = as_sent(disruption_budget("web", namespace=NAMESPACE, minAvailable=2))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


class Drains:
    """What a person does and sees."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.view = ClusterView(plane)

    def create(self, body: dict[str, Any]) -> None:
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def remove(self, name: str) -> None:
        """Ask for the removal of a machine."""
        self.create(removal(self.view.nodes()[name]))

    def status(self, name: str) -> dict[str, Any]:
        found = {item["metadata"]["name"]: item for item in self.view.items("noderemovalrequests")}
        return found.get(name, {}).get("status", {})

    def until_reason(self, name: str, reason: str) -> dict[str, Any]:
        """Wait until the removal says so, and return its status; a failure tells what it says instead."""
        try:
            self.plane.wait_for(
                lambda: self.status(name).get("reason") == reason, f"the removal of {name} says {reason}"
            )
        except AssertionError as error:
            raise AssertionError(f"It says {self.status(name)}\n{self.events(name)}\n{error}") from error
        return self.status(name)

    def until_gone(self, name: str) -> None:
        self.plane.wait_for(
            lambda: name not in self.view.nodes() and name not in self.view.servers() and not self.status(name),
            f"{name} is gone",
        )

    def pods(self) -> dict[str, tuple[str, str]]:
        """Return uid and node of each pod that runs and stays, by its name."""
        return {
            pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"]["nodeName"])
            for pod in self.view.pods()
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        }

    def events(self, name: str) -> str:
        return self.plane.kubectl("events", "--for", f"noderemovalrequest/{name}")

    def taints(self, name: str) -> list[str]:
        return [taint["key"] for taint in self.view.nodes()[name]["spec"].get("taints", [])]


def test_a_drain_honours_budgets_and_wishes(control_plane: ControlPlane, tmp_path: Path):
    plane = control_plane
    with scene(plane, tmp_path, cluster="drain", separate=False, quick=True) as growth:
        plane.replace(POOL)
        drains = Drains(plane)
        drains.create(deployment("web", 2, "500m", "256Mi", spread=True))
        drains.create(BUDGET)
        growth.start()
        plane.wait_for(lambda: len(drains.pods()) == 2, "both pods run")
        plane.wait_for(lambda: set(drains.view.phases("noderequests")) == {"Ready"}, "their machines are Ready")
        _a_budget_blocks_and_then_allows(drains)
        _a_wish_blocks_and_a_person_cancels(drains)
        _a_bare_pod_blocks_until_hard_grace(drains)


def _a_budget_blocks_and_then_allows(drains: Drains) -> None:
    before = drains.pods()
    name = min(node for _, node in before.values())
    drains.remove(name)
    status = drains.until_reason(name, "BlockedByBudget")
    assert status["phase"] == "Draining"
    assert "The disruption budget web needs 2 healthy pods and has 2 currently" in status["message"]
    assert "BlockedByBudget" in drains.events(name)
    assert drains.pods() == before
    drains.plane.kubectl(
        "patch", "poddisruptionbudget", "web", "-n", NAMESPACE, "--type=merge", "-p", '{"spec":{"minAvailable":1}}'
    )
    drains.until_gone(name)
    drains.plane.wait_for(lambda: len(drains.pods()) == 2, "both pods run again")
    after = drains.pods()
    assert name not in {node for _, node in after.values()}
    assert len(set(before) & set(after)) == 1, "the pod on the other machine was not touched"


def _a_wish_blocks_and_a_person_cancels(drains: Drains) -> None:
    before = drains.pods()
    pod, (_, name) = next(iter(before.items()))
    drains.plane.kubectl("annotate", "pod", pod, "-n", NAMESPACE, "growth.dev/do-not-remove=holds the sale")
    drains.remove(name)
    status = drains.until_reason(name, "BlockedByAnnotation")
    assert f"{NAMESPACE}/{pod} is annotated growth.dev/do-not-remove: holds the sale" in status["message"]
    assert drains.taints(name) == ["growth.dev/scale-down"]
    drains.plane.kubectl("annotate", "noderemovalrequest", name, "growth.dev/decision=cancel")
    drains.plane.wait_for(lambda: not drains.status(name), "the removal has ended")
    assert drains.taints(name) == []
    assert drains.pods() == before
    drains.plane.kubectl("annotate", "pod", pod, "-n", NAMESPACE, "growth.dev/do-not-remove-")


def _a_bare_pod_blocks_until_hard_grace(drains: Drains) -> None:
    drains.create(single_pod("bare", "500m"))
    drains.plane.wait_for(lambda: "bare" in drains.pods(), "the bare pod runs")
    change = json.dumps({"spec": {"scaleDown": {"hardGrace": "10s"}}})
    drains.plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", change)
    _, name = drains.pods()["bare"]
    drains.remove(name)
    status = drains.until_reason(name, "BlockedByBarePod")
    assert f"{NAMESPACE}/bare has no controller" in status["message"]
    assert "bare" in drains.pods()
    drains.until_gone(name)
    assert "bare" not in drains.pods()
    assert "HardGrace" in drains.events(name)
    drains.plane.wait_for(lambda: len(drains.pods()) == 2, "the pods of the controller run elsewhere")
