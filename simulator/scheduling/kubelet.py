"""What KWOK's controller and the node controllers do: Ready nodes, running pods, and the end of both.

Source: KWOK docs, "Stages configuration" (nodes with its annotation become Ready, their pods run and
stop at once); Kubernetes docs, "Taints and tolerations" (not-ready taint, eviction by NoExecute) and
"Pod garbage collection" (pods of a node that is gone).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODES, PODS, Object
from simulator.apiserver.cluster import MemoryCluster
from simulator.scheduling.conditions import condition_status, with_condition
from simulator.scheduling.fit import tolerates
from simulator.scheduling.pod_request import occupies

MANAGED: Final = "kwok.x-k8s.io/node"
"""Annotation of a Node: its kubelet lives where it is `fake`. With any other value the Node is silent."""
DEAD: Final = "dead"
"""Its value where the kubelet has died: pods that shall end never do, as long as there is the Node."""
_MANAGED_BY: Final = (MANAGED, "fake")
_READY_DELAY: Final = "node-initialize.stage.kwok.x-k8s.io/delay"
"""As long as a Node has this annotation, it is not Ready yet."""
_UNREACHABLE: Final = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Kubelet:
    """The kubelets of all simulated nodes, and the controllers that watch over them.

    A step is atomic, as the scheduler's.
    """

    def __init__(self, cluster: MemoryCluster, *, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._now = now

    async def step(self) -> bool:
        """Look at every node and pod once and return whether anything changed."""
        nodes = {n["metadata"]["name"]: n for n in self._cluster.peek(NODES)}
        changes = [await self._keep_node(node) for node in nodes.values()]
        bound = [pod for pod in self._cluster.peek(PODS) if pod["spec"].get("nodeName")]
        changes += [await self._keep_pod(pod, nodes.get(pod["spec"]["nodeName"])) for pod in bound]
        return any(changes)

    async def _keep_node(self, node: Object) -> bool:
        key, value = _MANAGED_BY
        annotations = node["metadata"].get("annotations") or {}
        is_managed = annotations.get(key) == value and _READY_DELAY not in annotations
        status = condition_status(node, "Ready")
        name = node["metadata"]["name"]
        if is_managed:
            patch = with_condition(node, "Ready", "True", reason="KubeletReady", now=self._now())
        elif status == "True":
            patch = with_condition(node, "Ready", "Unknown", reason="NodeStatusUnknown", now=self._now())
        else:
            patch = []
        if patch:
            node = await self._cluster.patch(NODES, name, patch, subresource="status")
        own = {_NOT_READY["key"], _UNREACHABLE["key"]}
        taints = [t for t in node.get("spec", {}).get("taints") or () if t["key"] not in own]
        if not is_managed:
            taints.append(dict(_NOT_READY))
        if kubelet_of(node) == DEAD:
            taints.append(dict(_UNREACHABLE))
        if taints == (node.get("spec", {}).get("taints") or []):
            return bool(patch)
        await self._cluster.patch(NODES, name, set_field(node, ("spec", "taints"), taints or None))
        return True

    async def _keep_pod(self, pod: Object, node: Object | None) -> bool:
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp"):
            if not metadata.get("deletionGracePeriodSeconds") or (node is not None and kubelet_of(node) == DEAD):
                return False
            self._cluster.finish(metadata["namespace"], metadata["name"])
            return True
        if node is None or (occupies(pod) and _is_evicted(pod, node)):
            await self._cluster.delete(PODS, metadata["name"], namespace=metadata["namespace"])
            return True
        if not occupies(pod):
            return False
        if pod["status"].get("phase") == "Running" or condition_status(node, "Ready") != "True":
            return False
        patch = [
            *set_field(pod, ("status", "phase"), "Running"),
            *with_condition(pod, "Ready", "True", reason="PodReady", now=self._now()),
        ]
        await self._cluster.patch(PODS, metadata["name"], patch, namespace=metadata["namespace"], subresource="status")
        return True


def kubelet_of(node: Object) -> str:
    """Return what the annotation says of the Node's kubelet, empty if nothing."""
    return str((node["metadata"].get("annotations") or {}).get(MANAGED, ""))


def _is_evicted(pod: Object, node: Object) -> bool:
    tolerations = pod["spec"].get("tolerations") or ()
    taints = node.get("spec", {}).get("taints") or ()
    return any(t["effect"] == "NoExecute" and not tolerates(tolerations, t) for t in taints)
