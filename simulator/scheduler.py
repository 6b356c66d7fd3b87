"""A small kube-scheduler: filter, score by LeastAllocated, bind; tell of those that fit nowhere.

Source: Kubernetes docs, "Kubernetes scheduler" and "Resource bin packing" (LeastAllocated is the
default profile's strategy); ties are broken at random there and from the seed here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Final

from activities.cluster import NODES, PODS, Object
from simulator.cluster import MemoryCluster
from simulator.conditions import with_condition
from simulator.fit import Host, misfit, not_simulated
from simulator.pod_request import pod_request

_SCORED: Final = ("cpu", "memory")


class Scheduler:
    """Binds pending pods, the most important and oldest first.

    A step is atomic, because no call to the cluster in memory waits: nothing changes between its look and its write.
    """

    def __init__(self, cluster: MemoryCluster, *, now: Callable[[], datetime], seed: int) -> None:
        self._cluster = cluster
        self._now = now
        self._random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets

    async def step(self) -> bool:
        """Try every pending pod once and return whether one of them was bound."""
        pods = (await self._cluster.list(PODS)).items
        pending = [p for p in pods if _is_pending(p)]
        if not pending:
            return False
        hosts = await self._hosts(pods)
        bound = [await self._schedule(pod, hosts) for pod in sorted(pending, key=_turn)]
        return any(bound)

    async def _hosts(self, pods: list[Object]) -> list[Host]:
        bound: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in pods:
            if node_name := pod["spec"].get("nodeName"):
                bound[node_name].append(pod)
        nodes = (await self._cluster.list(NODES)).items
        return sorted((Host(n, bound[n["metadata"]["name"]]) for n in nodes), key=lambda host: host.name)

    async def _schedule(self, pod: Object, hosts: list[Host]) -> bool:
        if unknown := not_simulated(pod):
            await self._refuse(pod, f"the simulated scheduler does not know {unknown}")
            return False
        reasons = [(host, misfit(pod, host, hosts)) for host in hosts]
        feasible = [host for host, reason in reasons if reason is None]
        if not feasible:
            counts = Counter(reason for _, reason in reasons if reason is not None)
            told = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
            await self._refuse(pod, f"0/{len(hosts)} nodes are available{': ' + told if told else ''}.")
            return False
        best = max(_score(pod, host) for host in feasible)
        choice = self._random.choice([host for host in feasible if _score(pod, host) == best])
        self._cluster.bind(pod["metadata"]["namespace"], pod["metadata"]["name"], choice.name)
        choice.place(pod)
        return True

    async def _refuse(self, pod: Object, message: str) -> None:
        patch = with_condition(pod, "PodScheduled", "False", reason="Unschedulable", message=message, now=self._now())
        if patch:
            metadata = pod["metadata"]
            await self._cluster.patch(
                PODS, metadata["name"], patch, namespace=metadata["namespace"], subresource="status"
            )


def _is_pending(pod: Object) -> bool:
    return (
        not pod["spec"].get("nodeName")
        and not pod["metadata"].get("deletionTimestamp")
        and not pod["spec"].get("schedulingGates")
        and pod.get("status", {}).get("phase", "Pending") == "Pending"
    )


def _turn(pod: Object) -> tuple[int, str, str, str]:
    metadata = pod["metadata"]
    created = metadata.get("creationTimestamp", "")
    return (-pod["spec"].get("priority", 0), created, metadata["namespace"], metadata["name"])


def _score(pod: Object, host: Host) -> int:
    """Return 0 to 100: the free share of cpu and memory that would be left, on average."""
    request = pod_request(pod)
    shares = [
        (host.allocatable[name] - host.used.get(name, 0) - request.get(name, 0)) * 100 // host.allocatable[name]
        for name in _SCORED
        if host.allocatable.get(name)
    ]
    return sum(shares) // len(shares) if shares else 0
