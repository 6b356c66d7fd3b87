"""A small kube-scheduler: filter, score by LeastAllocated, bind; tell of those that fit nowhere.

Source: Kubernetes docs, "Kubernetes scheduler" and "Resource bin packing" (LeastAllocated is the
default profile's strategy); ties are broken at random there and from the seed here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final

from activities.ports.cluster import NODES, PODS, Object
from activities.ports.errors import Conflict, NotFound
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.conditions import with_condition
from simulator.scheduling.fit import FitHost, misfit, not_simulated
from simulator.scheduling.pod_request import pod_request

_AT_ONCE: Final = timedelta()
_SCORED: Final = ("cpu", "memory")


PlugIn = Callable[[Object, Object], str | None]
"""Returns why a pod may not be on a node, as a part of the scheduler's words, or None when it may."""


def no_plug_in(_pod: Object, _node: Object) -> str | None:
    """Refuse nothing."""
    return None


@dataclass(frozen=True, slots=True)
class _Assumed:
    """A pod whose node is chosen and whose binding is on its way."""

    pod: Object
    node: str
    due: datetime


class Scheduler:
    """Binds pending pods, the most important and oldest first.

    A step is atomic, because no call to the cluster in memory waits: nothing changes between its look and its write.

    Args:
        cluster: where pods and nodes are.
        now: the time, UTC.
        seed: decides ties, and how long each binding takes.
        longest_binding: a binding takes up to this, and whatever happens to the node meanwhile does not stop it, as
            it is with a scheduler whose cache is old or that binds volumes first.
    """

    def __init__(
        self, cluster: MemoryCluster, *, now: Callable[[], datetime], seed: int, longest_binding: timedelta = _AT_ONCE
    ) -> None:
        self._cluster = cluster
        self._now = now
        self._longest_binding = longest_binding
        self._assumed: dict[str, _Assumed] = {}
        self.plug_in: PlugIn | None = no_plug_in
        """Refuses what every other filter lets pass; without one, the scheduler stands still."""
        self._random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets

    def next_binding_at(self) -> datetime | None:
        """Return when the next binding takes effect; None when none is on its way."""
        return min((assumed.due for assumed in self._assumed.values()), default=None)

    def fail_bindings(self) -> None:
        """Let the bindings that are on their way be refused: their pods are tried again."""
        self._assumed.clear()

    async def step(self) -> bool:
        """Try every pending pod once and return whether one of them was bound."""
        if self.plug_in is None:
            return False
        is_changed = self._bind_due()
        pods = self._cluster.peek(PODS)
        pending = [p for p in pods if _is_pending(p)]
        self._forget({p["metadata"]["uid"] for p in pending})
        if not pending:
            return is_changed
        hosts = self._hosts(pods)
        waiting = [p for p in pending if p["metadata"]["uid"] not in self._assumed]
        bound = [await self._schedule(pod, hosts) for pod in sorted(waiting, key=_turn)]
        return any(bound) or is_changed

    def _bind_due(self) -> bool:
        due = [uid for uid, assumed in self._assumed.items() if assumed.due <= self._now()]
        for uid in due:
            assumed = self._assumed.pop(uid)
            metadata = assumed.pod["metadata"]
            # The pod may be gone meanwhile, or be another one of that name.
            with suppress(NotFound, Conflict):
                self._cluster.bind(metadata["namespace"], metadata["name"], assumed.node, uid=uid)
        return bool(due)

    def _forget(self, pending: set[str]) -> None:
        self._assumed = {uid: assumed for uid, assumed in self._assumed.items() if uid in pending}

    def _hosts(self, pods: list[Object]) -> list[FitHost]:
        bound: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in pods:
            if node_name := pod["spec"].get("nodeName"):
                bound[node_name].append(pod)
        for assumed in self._assumed.values():
            bound[assumed.node].append(assumed.pod)
        return [FitHost(node, bound[node["metadata"]["name"]]) for node in self._cluster.peek(NODES)]

    async def _schedule(self, pod: Object, hosts: list[FitHost]) -> bool:
        if unknown := not_simulated(pod):
            await self._refuse(pod, f"the simulated scheduler does not know {unknown}")
            return False
        plug_in = self.plug_in or no_plug_in
        reasons = [(host, misfit(pod, host, hosts) or plug_in(pod, host.node)) for host in hosts]
        feasible = [host for host, reason in reasons if reason is None]
        if not feasible:
            counts = Counter(reason for _, reason in reasons if reason is not None)
            summary = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
            await self._refuse(pod, f"0/{len(hosts)} nodes are available{': ' + summary if summary else ''}.")
            return False
        best = max(_score(pod, host) for host in feasible)
        choice = self._random.choice([host for host in feasible if _score(pod, host) == best])
        choice.place(pod)
        if not self._longest_binding:
            self._cluster.bind(pod["metadata"]["namespace"], pod["metadata"]["name"], choice.name)
            return True
        takes = self._longest_binding * self._random.random()
        self._assumed[pod["metadata"]["uid"]] = _Assumed(pod, choice.name, self._now() + takes)
        return False

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


def _score(pod: Object, host: FitHost) -> int:
    """Return 0 to 100: the free share of cpu and memory that would be left, on average."""
    request = pod_request(pod)
    shares = [
        (host.allocatable[name] - host.used.get(name, 0) - request.get(name, 0)) * 100 // host.allocatable[name]
        for name in _SCORED
        if host.allocatable.get(name)
    ]
    return sum(shares) // len(shares) if shares else 0
