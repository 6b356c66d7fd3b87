"""What is bought for a namespace stays within `limits.perNamespace`, judged when a machine is asked for.

Counted is what each round that writes now must know of: pods that have been on Nodes of the pool for a while.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, NODES, PODS, Object, Resource
from api.keys import LABEL_POOL, LABEL_STEP
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Facts, PoolSpecs
from simulator.campaign.judging.invariants import EDIT_SECONDS
from simulator.campaign.judging.recorder import Witness, is_daemon, labels_of
from simulator.scheduling.pod_request import amounts, occupies, pod_request

_CPU: Final = "cpu"


class NamespaceBoundsJudge:
    """Judges each request when it is made.

    Args:
        cluster: the API server.
        witness: knows which machines there are.
        window: how many seconds old what a round knows of pods may be.
        tell: takes a sentence for each violation.
    """

    def __init__(self, cluster: MemoryCluster, witness: Witness, *, window: float, tell: Callable[[str], None]) -> None:
        self._cluster, self._witness, self._tell = cluster, witness, tell
        self._specs = PoolSpecs(witness.seconds, EDIT_SECONDS)
        self._facts = Facts(witness.seconds, window, written=window)
        self.violations: list[str] = []

    def note(self, resource: Resource, change: Change) -> None:
        """Judge one write."""
        self._specs.note(resource, change)
        if resource == PODS:
            pod = change.now
            stays = change.kind != "DELETED" and "deletionTimestamp" not in pod["metadata"] and occupies(pod)
            is_there = stays and bool(pod["spec"].get("nodeName")) and not is_daemon(pod)
            self._facts.note(pod["metadata"]["uid"], holds=is_there)
        elif resource == NODE_REQUESTS and change.kind != "DELETED" and change.before is None:
            self._bought(change.now)

    def _bought(self, request: Object) -> None:
        name, pool = request["metadata"]["name"], request["spec"]["pool"]
        bounds = [(spec.get("limits") or {}).get("perNamespace") or {} for spec in self._specs.recent(pool)]
        seats = {seat["uid"] for seat in request["spec"].get("reservedFor") or ()}
        if not seats or not bounds or LABEL_STEP in labels_of(request) or not any(bounds):
            return
        pods = self._cluster.peek(PODS)
        own = [pod for pod in pods if pod["metadata"]["uid"] in seats]
        namespaces = {pod["metadata"]["namespace"] for pod in own}
        on = self._known_pods(pool, pods)
        for namespace in sorted(namespaces):
            new = sum(pod_request(pod).get(_CPU, 0) for pod in own if pod["metadata"]["namespace"] == namespace)
            has = sum(pod_request(pod).get(_CPU, 0) for pod in on if pod["metadata"]["namespace"] == namespace)
            most = max(amounts({_CPU: each[_CPU]})[_CPU] if _CPU in each else has + new for each in bounds)
            self._witness.counts["machines bought under a bound of a namespace"] += 1
            if has + new > most:
                self._wrong(
                    f"{name} is bought for {new}m cpu of namespace {namespace}, which has {has}m in pool {pool}, "
                    f"of at most {most}m"
                )
        if len(namespaces) == 1:
            number = len(self._machines_of(namespaces.pop(), on)) + 1
            most = max(each.get("machines", number) for each in bounds)
            if number > most:
                self._wrong(f"{name} is machine {number} of pool {pool} for one namespace, of at most {most}")

    def _known_pods(self, pool: str, pods: list[Object]) -> list[Object]:
        names = {
            node["metadata"]["name"] for node in self._cluster.peek(NODES) if labels_of(node).get(LABEL_POOL) == pool
        }
        on_nodes = [pod for pod in pods if pod["spec"].get("nodeName") in names]
        return [pod for pod in on_nodes if self._facts.is_known(pod["metadata"]["uid"])]

    def _machines_of(self, namespace: str, pods: list[Object]) -> set[str]:
        """Return the Nodes whose known pods are all of the namespace."""
        of_others = Counter(pod["spec"]["nodeName"] for pod in pods if pod["metadata"]["namespace"] != namespace)
        return {pod["spec"]["nodeName"] for pod in pods} - of_others.keys()

    def _wrong(self, violation: str) -> None:
        self.violations.append(violation)
        self._tell(violation)
