"""Which pods of one machine cannot stand each other: hostname anti-affinity, both ways, and host ports."""

from collections.abc import Iterable

from api.keys import LABEL_HOSTNAME
from planner.judge.affinity import Namespaces, term_matches
from planner.judge.ports import ports_conflict
from planner.objects import Pod


def keep_apart(one: Pod, other: Pod, namespaces: Namespaces) -> str | None:
    """Return the code of what forbids two pods to share a machine, or None.

    The scheduler looks at the terms of the pod it places and at those of pods that are there.
    """
    if _repels(one, other, namespaces) or _repels(other, one, namespaces):
        return "AntiAffinity"
    return "HostPortTaken" if ports_meet(one, (other,)) else None


def ports_meet(pod: Pod, others: Iterable[Pod]) -> bool:
    """Return whether the pod asks for a port of the node that another one takes."""
    return bool(pod.host_ports) and any(
        ports_conflict(mine, taken) for other in others for taken in other.host_ports for mine in pod.host_ports
    )


def _repels(one: Pod, other: Pod, namespaces: Namespaces) -> bool:
    return any(
        term.topology_key == LABEL_HOSTNAME and term_matches(term, other, namespaces) for term in one.pod_anti_affinity
    )
