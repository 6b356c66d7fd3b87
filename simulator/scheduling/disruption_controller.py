"""What the disruption controller does: the status of each PodDisruptionBudget, by the pods that are there.

Source: Kubernetes docs, "Specifying a Disruption Budget for your Application"; API reference, PodDisruptionBudget.
"""

from activities.ports.cluster import DISRUPTION_BUDGETS, PODS
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.disruption_budgets import status_of


class DisruptionController:
    """Counts the pods under each budget."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    async def step(self) -> bool:
        """Count once and return whether a status has changed."""
        budgets = list(self._cluster.peek(DISRUPTION_BUDGETS))
        if not budgets:
            return False
        pods = self._cluster.peek(PODS)
        changed = False
        for budget in budgets:
            metadata = budget["metadata"]
            status = status_of(budget, [pod for pod in pods if pod["metadata"]["namespace"] == metadata["namespace"]])
            if status != budget.get("status"):
                operation = {"op": "add", "path": "/status", "value": status}
                await self._cluster.patch(
                    DISRUPTION_BUDGETS,
                    metadata["name"],
                    [operation],
                    namespace=metadata["namespace"],
                    subresource="status",
                )
                changed = True
        return changed
