"""What a node is: its name, whether it is cordoned, its taints and its labels.

Source: kube-scheduler's plugins NodeName, NodeUnschedulable, TaintToleration and NodeAffinity.
"""

from typing import Final

from planner.objects.kinds import Pod, Taint
from planner.objects.predicates import untolerated, wants_node
from planner.scheduling.site import Occupancy

_UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""Who tolerates it may go to a cordoned node, whether the node carries the taint yet or not."""


def node_obstacle(pod: Pod, place: Occupancy) -> str | None:
    """Return what about the node itself keeps the pod out, or None."""
    site = place.site
    if site.is_cordoned and untolerated(pod.tolerations, (_UNSCHEDULABLE,)):
        return "the node is unschedulable (cordoned)"
    if pod.node_name not in ("", site.name):
        return f"the node didn't match the requested node name {pod.node_name}"
    if taint := untolerated(pod.tolerations, site.taints):
        value = f"={taint.value}" if taint.value else ""
        return f"the node had untolerated taint {taint.key}{value}:{taint.effect}"
    if not wants_node(pod, place.labels):
        return "the node didn't match the pod's node affinity/selector"
    return None
