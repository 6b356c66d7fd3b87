"""What the walk through docs/operations.md sees and changes beside the commands of the document."""

import json
from collections.abc import Callable

import yaml

from tests.builders import deployment
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.walk import Walk

POOL = "nodepools.growth.dev/default"


class Cluster:
    """What the walk sees and changes beside the commands of the document."""

    def __init__(self, plane: ControlPlane, walk: Walk) -> None:
        self.plane = plane
        self.walk = walk
        self.view = ClusterView(plane)

    def pool(self, **spec: object) -> None:
        """Change the pool."""
        self.plane.kubectl("patch", POOL, "--type=merge", "-p", json.dumps({"spec": spec}))

    def boot_at_once(self) -> None:
        """Let the two smallest server types boot in no time."""
        places = [f"/spec/serverTypes/{i}/locations/{j}/bootTime" for i in (0, 1) for j in (0, 1)]
        change = json.dumps([{"op": "add", "path": place, "value": "0s"} for place in places])
        self.plane.kubectl("patch", "kwoknodeclasses/default", "--type=json", "-p", change)

    def faults(self, faults: list[dict[str, str]]) -> None:
        """Script failures of the provider."""
        change = json.dumps({"spec": {"faults": faults}})
        self.plane.kubectl("patch", "kwoknodeclasses/default", "--type=merge", "-p", change)

    def web(self, replicas: int) -> None:
        """Let so many pods run, each on a machine of its own."""
        body = deployment("web", replicas, "500m", "256Mi", spread=True)
        self.plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        self.plane.wait_for(holds, what)

    def until_seen(self) -> None:
        """Wait for the first round with the pool: one that is deleted before goes without a finalizer, and at once."""

        def is_ready() -> bool:
            (pool,) = self.view.items("nodepools")
            conditions = {one["type"]: one["status"] for one in pool.get("status", {}).get("conditions", ())}
            return conditions.get("Ready") == "True"

        self.until(is_ready, "a round has seen the pool")

    def names(self, kind: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.view.items(kind)}

    def removals(self, phase: str) -> list[str]:
        """Return the names of removals in this phase whose Node has been tainted."""
        found = self.view.items("noderemovalrequests")
        statuses = {item["metadata"]["name"]: item.get("status", {}) for item in found}
        return sorted(n for n, s in statuses.items() if s.get("phase") == phase and "taintedAt" in s)

    def reason(self, name: str) -> str:
        """Return why the removal of this name stands where it does; empty if there is none."""
        found = {item["metadata"]["name"]: item.get("status", {}) for item in self.view.items("noderemovalrequests")}
        return found.get(name, {}).get("reason", "")

    def joining(self, before: set[str]) -> list[str]:
        """Return the names of requests, others than those `before`, whose server runs and whose Node shall join."""
        found = {item["metadata"]["name"]: item.get("status", {}) for item in self.view.items("noderequests")}
        return sorted(n for n, s in found.items() if n not in before and "runningAt" in s and "readyAt" not in s)

    def taints(self, name: str) -> set[str]:
        node = self.view.nodes().get(name, {"spec": {}})
        return {taint["key"] for taint in node["spec"].get("taints", [])}

    def is_open(self) -> bool:
        """Return whether all machines are Ready and kept for nobody; one that a person drained stays cordoned."""
        return all(phase == "Ready" for phase in self.view.phases("noderequests")) and not any(
            self.taints(name) - {"node.kubernetes.io/unschedulable"} for name in self.view.nodes()
        )

    def running(self) -> dict[str, str]:
        """Return the node of each running pod by its name."""
        pods = self.view.pods()
        return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods if p["status"].get("phase") == "Running"}
