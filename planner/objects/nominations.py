"""Nominations: pods that are bound nowhere yet, and for which the scheduler keeps a node.

It nominates a node where it preempts other pods, until these are gone, and while it binds the pod's volumes.
Such a pod counts on its node, and no machine is bought for it.

Source: Kubernetes docs, "Pod Priority and Preemption: User exposed information"; Karpenter's `IsPreempting`.
"""

from collections.abc import Iterable
from dataclasses import replace

from planner.objects.kinds import Node, Pod


def heeded(pods: Iterable[Pod], nodes: Iterable[Node]) -> tuple[Pod, ...]:
    """Return the pods without the nominations that mean nothing: `nominated_node` is empty for these.

    A node that is gone, not Ready, cordoned or being deleted takes no pod, whatever was said before; and a pod that
    is bound, held back, being deleted or finished is not on its way.
    """
    all_pods = tuple(pods)
    if not any(pod.nominated_node for pod in all_pods):
        return all_pods
    open_nodes = {node.name for node in nodes if node.takes_pods}
    return tuple(
        pod
        if not pod.nominated_node or (pod.nominated_node in open_nodes and _is_awaited(pod))
        else replace(pod, nominated_node="")
        for pod in all_pods
    )


def _is_awaited(pod: Pod) -> bool:
    return pod.phase == "Pending" and not (pod.node_name or pod.is_gated or pod.is_terminating)
