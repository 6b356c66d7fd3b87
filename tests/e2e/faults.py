"""Machines in every state, for scenarios in which something fails around them."""

import json

from tests.builders import as_sent, node_pool
from tests.e2e.cluster_view import ClusterView
from tests.e2e.harness import ControlPlane
from tests.e2e.workloads import single_pod

POOL = as_sent(
    node_pool(
        types=["cx22", "cx32"],
        limits={"max": 9},
        scaleDown={
            "idleAfter": "1s",
            "softGrace": "5m",
            "removal": {"maxAttempts": 1, "retry": "1s", "parkedRetry": "1h"},
        },
    )
)
STUBBORN = [{"serverType": "cx22", "call": "delete", "error": "transient"}]
"""Servers of the small type cannot be deleted."""


class Machines:
    """A pool of small machines that join at once, and of large ones that boot for long."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.view = ClusterView(plane)

    def set_up(self, *, large_boots_within: str = "1h") -> None:
        """Make the pool, and let large servers boot for so long."""
        self.plane.replace(POOL)
        change = [
            {"op": "replace", "path": "/spec/serverTypes/1/locations/0/bootTime", "value": large_boots_within},
            {"op": "add", "path": "/spec/faults", "value": STUBBORN},
        ]
        self.plane.kubectl("patch", "kwoknodeclasses", "default", "--type=json", "-p", json.dumps(change))

    def cool_off_for(self, time: str) -> None:
        """Set the cool-off of the pool."""
        change = json.dumps({"spec": {"scaleDown": {"softGrace": time}}})
        self.plane.kubectl("patch", "nodepools.growth.dev", "default", "--type=merge", "-p", change)

    def pod(self, name: str, cpu: str) -> None:
        """Create a pod: 1500m takes a small machine, 3500m a large one."""
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(single_pod(name, cpu)))

    def nodes_of_pods(self) -> dict[str, str]:
        """Return the node of each running pod."""
        pods = self.view.pods()
        return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods if p["status"].get("phase") == "Running"}

    def phase(self, kind: str, name: str) -> str:
        """Return the phase of an object, empty before it has one and when it is gone."""
        found = self.plane.api.get(kind, name)
        return "" if found is None else found.get("status", {}).get("phase", "")

    def taints(self, name: str) -> set[str]:
        """Return the keys of Growth's taints on a Node."""
        taints = self.view.nodes()[name]["spec"].get("taints", [])
        return {taint["key"] for taint in taints if taint["key"].startswith("growth.dev/")}

    def is_cooling(self, name: str) -> bool:
        """Return whether a machine is in its cool-off."""
        return "growth.dev/scale-down" in self.taints(name) and self.phase("noderemovalrequests", name) == "Pending"

    def is_parked(self, name: str) -> bool:
        """Return whether the removal of a machine has given up for now."""
        return self.phase("noderemovalrequests", name) == "CouldNotRemove"

    def happened(self, name: str, *words: str) -> bool:
        """Return whether the removal tells of something with all these words."""
        found = self.plane.api.get("noderemovalrequests", name) or {}
        told = " ".join(event["reason"] for event in found.get("status", {}).get("events", ()))
        return all(word in told for word in words)

    def parked(self, pod: str) -> str:
        """Let a machine come for a pod and park when the pod is gone; return its name."""
        name = self._emptied(pod, cool_off="1s")
        self.plane.wait_for(lambda: self.is_parked(name), "its removal is parked")
        return name

    def cooling(self, pod: str, *, cool_off: str = "5m") -> str:
        """Let a machine come for a pod and cool off when the pod is gone; return its name."""
        name = self._emptied(pod, cool_off=cool_off)
        self.plane.wait_for(lambda: self.is_cooling(name), "it cools off")
        return name

    def obey(self) -> None:
        """Let servers be deleted from now on."""
        self.plane.kubectl("patch", "kwoknodeclasses/default", "--type=merge", "-p", '{"spec":{"faults":null}}')

    def let_go(self) -> None:
        """Let what is parked end: after a test that failed it would outlast the scene."""
        self.obey()
        self.plane.kubectl("annotate", "noderemovalrequests", "--all", "growth.dev/decision=retry")

    def _emptied(self, pod: str, *, cool_off: str) -> str:
        self.cool_off_for(cool_off)
        self.pod(pod, "1500m")
        self.plane.wait_for(lambda: pod in self.nodes_of_pods(), f"the pod {pod} runs")
        name = self.nodes_of_pods()[pod]
        self.plane.kubectl("delete", "pod", pod, "-n", "default", "--grace-period=0", "--force")
        return name
