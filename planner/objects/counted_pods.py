"""Counted pods: as demand for machines, on their node, or on the node that the scheduler keeps for them.

The scheduler nominates a node where it preempts other pods, until these are gone, and while it binds the pod's
volumes. Such a pod counts on its node, and no machine is bought for it.

Source: Kubernetes docs, "Pod Priority and Preemption: User exposed information"; Karpenter's `IsPreempting`.
"""

from collections.abc import Iterable
from dataclasses import replace

from planner.objects.kinds import Node, Pod


def may_be_placed(pod: Pod) -> bool:
    """Return whether the scheduler may bind this pod now or soon: it waits, for itself and not for one node.

    DaemonSet and mirror pods belong to their node, as does one that a node is kept for; gated pods wait for someone
    else. Others that belong to a node are bound to it.
    """
    return (
        not pod.lands_on
        and pod.phase == "Pending"
        and not (pod.is_terminating or pod.is_gated or pod.is_daemon or pod.is_mirror)
    )


def is_demand(pod: Pod) -> bool:
    """Return whether this pod asks for a machine: the scheduler has found no place for it.

    Source: docs/design.md#demand.
    """
    return pod.is_unschedulable and may_be_placed(pod)


def residents_by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Return the pods that take room by the node they are on or on their way to.

    Terminating ones do until they are gone, so that a preempted pod and the one it makes room for both count.
    """
    residents: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.lands_on and not pod.is_finished:
            residents.setdefault(pod.lands_on, []).append(pod)
    return residents


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
