"""What a test sees of the cluster while Growth works: read over one connection, for it looks ten times a second."""

from decimal import Decimal
from typing import Any

import yaml

from tests.e2e.growth_process import ROOT
from tests.e2e.harness import ControlPlane

OBJECTS = ROOT / "tests" / "e2e" / "objects"
NAMESPACE = "growth-system"
PLANNED_KINDS = ("pods", "nodes", "daemonsets", "nodepools", "kwoknodeclasses", "hetznernodeclasses")
"""What `growth plan` reads of a dump."""


class ClusterView:
    """The objects of the cluster, and where each pod was planned, gathered at every look."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.planned: dict[str, str] = {}
        """The request each pod last had a seat on, by pod name."""
        self.servers_ever: set[str] = set()
        self.requests_ever: set[str] = set()
        catalogue = yaml.safe_load((OBJECTS / "class.yaml").read_text())
        self._prices = {t["name"]: Decimal(t["pricePerHour"]) for t in catalogue["spec"]["serverTypes"]}

    def items(self, kind: str, namespace: str = "", *, labels: str = "", fields: str = "") -> list[dict[str, Any]]:
        """Return the objects of a kind, by its plural; of all namespaces if none is given."""
        return self._plane.api.items(kind, namespace, labels=labels, fields=fields)

    def look(self) -> None:
        """Take note of seats, requests and servers."""
        for request in self.items("noderequests"):
            name = request["metadata"]["name"]
            self.requests_ever.add(name)
            for seat in request["spec"].get("reservedFor", []):
                self.planned[seat["name"]] = name
        self.servers_ever.update(self.servers())

    def servers(self) -> set[str]:
        """Return the names of the servers that exist at the provider."""
        records = self.items("configmaps", NAMESPACE, labels="growth.dev/request")
        return {record["metadata"]["name"] for record in records}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return our Nodes by name."""
        return {n["metadata"]["name"]: n for n in self.items("nodes", labels="growth.dev/pool")}

    def phases(self, kind: str) -> list[str]:
        """Return the phase of each request or removal."""
        return [o.get("status", {}).get("phase", "Pending") for o in self.items(kind)]

    def pods(self) -> list[dict[str, Any]]:
        """Return the pods of the scenario."""
        return self.items("pods", "default")

    def running(self) -> int:
        """Return how many pods run."""
        self.look()
        return sum(pod["status"].get("phase") == "Running" for pod in self.pods())

    def unschedulable(self) -> int:
        """Return how many pods the scheduler could not place."""
        return sum(
            condition.get("reason") == "Unschedulable"
            for pod in self.pods()
            for condition in pod["status"].get("conditions", [])
        )

    def cost_per_hour(self) -> Decimal:
        """Return the price of our Nodes."""
        types = (node["metadata"]["labels"]["growth.dev/server-type"] for node in self.nodes().values())
        return sum((self._prices[each] for each in types), Decimal(0))
