"""Controllers that keep pods: a workload with replicas, as a ReplicaSet does, and a DaemonSet's pods.

Workloads live beside the cluster, not in it: Growth sees only their pods and the owner reference.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from activities.ports.cluster import DAEMON_SETS, LIMIT_RANGES, NODES, PODS, Object
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.fit import node_matches, tolerates
from simulator.scheduling.pod_request import occupies

_DAEMON_TOLERATIONS: Final = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""What every DaemonSet pod puts up with. Source: Kubernetes docs, "DaemonSet: taints and tolerations"."""


@dataclass(slots=True)
class Workload:
    """Equal pods, as many as wanted."""

    name: str
    replicas: int
    requests: dict[str, str]
    """Quantities per resource, such as {"cpu": "500m", "memory": "1Gi"}."""
    namespace: str = "default"
    spec: dict[str, Any] = field(default_factory=dict)
    """Further fields of the pod's spec: nodeSelector, affinity, tolerations."""

    @property
    def uid(self) -> str:
        """Uid of the ReplicaSet that its pods name as their owner: the same in every run."""
        return str(UUID(hashlib.sha256(f"{self.namespace}/{self.name}".encode()).hexdigest()[:32]))


class Workloads:
    """Creates missing pods, deletes surplus ones, replaces those that are gone."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._workloads: dict[tuple[str, str], Workload] = {}
        self._created = 0

    def add(self, workload: Workload) -> None:
        """Keep this workload from the next step on."""
        self._workloads[workload.namespace, workload.name] = workload

    def scale(self, name: str, replicas: int, *, namespace: str = "default") -> None:
        """Change how many pods are wanted.

        Raises:
            KeyError: there is no such workload.
        """
        self._workloads[namespace, name].replicas = replicas

    def scale_all(self, replicas: int) -> None:
        """Change how many pods each workload wants."""
        for workload in self._workloads.values():
            workload.replicas = replicas

    async def step(self) -> bool:
        """Compare each workload with its pods once and return whether pods were created or deleted."""
        if not self._workloads:
            return False
        pods = self._cluster.peek(PODS)
        owned: dict[str, list[Object]] = {w.uid: [] for w in self._workloads.values()}
        for pod in pods:
            owner = _controller(pod)
            if owner in owned and occupies(pod) and not pod["metadata"].get("deletionTimestamp"):
                owned[owner].append(pod)
        changes = [await self._keep(workload, owned[workload.uid]) for workload in self._workloads.values()]
        return any(changes)

    async def _keep(self, workload: Workload, pods: list[Object]) -> bool:
        for _ in range(workload.replicas - len(pods)):
            self._created += 1
            await self._cluster.create(PODS, self._pod(workload), namespace=workload.namespace)
        surplus = sorted(pods, key=_expendable)[: max(0, len(pods) - workload.replicas)]
        for pod in surplus:
            await _delete_pod(self._cluster, pod)
        return workload.replicas != len(pods)

    def _pod(self, workload: Workload) -> Object:
        metadata = {
            "name": f"{workload.name}-{self._created:05d}",
            "namespace": workload.namespace,
            "labels": {"app": workload.name},
            "ownerReferences": [_reference("ReplicaSet", workload.name, workload.uid)],
        }
        container = {"name": "main", "image": "example.org/app", "resources": {"requests": workload.requests}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**workload.spec, "containers": [container]},
        }


class Daemons:
    """Puts one pod of each DaemonSet on each node that it may run on, with what admission makes of it."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self.admitted: dict[str, dict[str, str]] = {}
        """Requests that a webhook, such as a vertical autoscaler's, gives the pods of a DaemonSet, by its name."""

    async def step(self) -> bool:
        """Compare DaemonSets with nodes once and return whether pods were created or deleted.

        Source: Kubernetes docs, "DaemonSet": pods are bound by the scheduler, held to their node by a
        required affinity on its name; a NoSchedule taint keeps new pods away and leaves running ones.
        """
        sets = self._cluster.peek(DAEMON_SETS)
        if not sets:
            return False
        nodes, pods = self._cluster.peek(NODES), self._cluster.peek(PODS)
        changes = [await self._keep(daemon_set, nodes, pods) for daemon_set in sets]
        return any(changes)

    async def _keep(self, daemon_set: Object, nodes: list[Object], pods: list[Object]) -> bool:
        uid = daemon_set["metadata"]["uid"]
        by_node = {_pinned_to(pod): pod for pod in pods if _controller(pod) == uid}
        changed = False
        for node in nodes:
            name = node["metadata"]["name"]
            pod = self._admit(_daemon_pod(daemon_set, name))
            taints = node.get("spec", {}).get("taints") or ()
            refused = {t["effect"] for t in taints if not tolerates(pod["spec"]["tolerations"], t)}
            fits = node_matches(pod, node)
            if name in by_node:
                leaving = "deletionTimestamp" in by_node[name]["metadata"]
                if not leaving and (not fits or "NoExecute" in refused):
                    await _delete_pod(self._cluster, by_node[name])
                    changed = True
            elif fits and not refused - {"PreferNoSchedule"}:
                await self._cluster.create(PODS, pod, namespace=daemon_set["metadata"]["namespace"])
                changed = True
        return changed

    def _admit(self, pod: Object) -> Object:
        """Return the pod as the API server stores it: a LimitRange gives requests to containers that state none."""
        metadata = pod["metadata"]
        given = self.admitted.get(metadata["ownerReferences"][0]["name"], {})
        usual: dict[str, str] = {}
        for limit_range in self._cluster.peek(LIMIT_RANGES):
            if limit_range["metadata"]["namespace"] == metadata["namespace"]:
                for item in limit_range["spec"]["limits"]:
                    usual |= item.get("defaultRequest", {}) if item["type"] == "Container" else {}
        if not (given or usual):
            return pod
        containers = [
            {**each, "resources": {"requests": usual | (each.get("resources") or {}).get("requests", {}) | given}}
            for each in pod["spec"]["containers"]
        ]
        return {**pod, "spec": {**pod["spec"], "containers": containers}}


def _daemon_pod(daemon_set: Object, node_name: str) -> Object:
    metadata = daemon_set["metadata"]
    template = daemon_set["spec"]["template"]
    spec = template["spec"]
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {"nodeSelectorTerms": [{}]}
    pin = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = [{**term, "matchFields": [pin]} for term in required["nodeSelectorTerms"]]
    affinity = {
        **(spec.get("affinity") or {}),
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-{node_name}",
            "namespace": metadata["namespace"],
            "labels": template.get("metadata", {}).get("labels") or {},
            "ownerReferences": [_reference("DaemonSet", metadata["name"], metadata["uid"])],
        },
        "spec": {
            **spec,
            "affinity": affinity,
            "tolerations": [*(spec.get("tolerations") or ()), *_DAEMON_TOLERATIONS],
        },
    }


def _pinned_to(pod: Object) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]


def _reference(kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def _controller(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((o["uid"] for o in owners if o.get("controller")), "")


def _expendable(pod: Object) -> tuple[bool, bool, str]:
    # Source: Kubernetes docs, "ReplicaSet": pending pods go first, then those that are not ready, then newer ones.
    ready = condition_status(pod, "Ready") == "True"
    return (bool(pod["spec"].get("nodeName")), ready, _descending(pod["metadata"]["name"]))


def _descending(name: str) -> str:
    return "".join(chr(0x10FFFF - ord(letter)) for letter in name)


async def _delete_pod(cluster: MemoryCluster, pod: Object) -> None:
    metadata = pod["metadata"]
    await cluster.delete(PODS, metadata["name"], namespace=metadata["namespace"])
