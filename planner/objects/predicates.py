"""Whether a pod may be on a node, apart from room and other pods: labels and taints.

Source: Kubernetes docs, "Assigning Pods to Nodes" and "Taints and Tolerations".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from api.keys import LABEL_HOSTNAME, LABEL_OS, TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from planner.objects.kinds import Pod, PodTerm, Requirement, Taint, Toleration

OWN_TAINTS: Final = frozenset({TAINT_UNREGISTERED, TAINT_RESERVED, TAINT_SCALE_DOWN})
"""Growth sets and lifts these itself: what they mean is read from requests and removals, never from a cached node."""
NEW_HOST: Final = "(a new machine)"
"""Stands for the host name of a machine that has none yet: no valid label value, so no In requirement names it."""
FIELD_NAME: Final = "metadata.name (field)"
"""Key of what matchFields ask of a node's name: no label can have it."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,63}")
"""As long as a label can be."""
_NUMBERS: Final = range(-(2**63), 2**63)

DAEMON_TOLERATIONS: Final = (
    Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute"),
    Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute"),
    Toleration("node.kubernetes.io/disk-pressure", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/memory-pressure", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/pid-pressure", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"),
    Toleration("node.kubernetes.io/network-unavailable", "Exists", "", "NoSchedule"),
)
"""What the DaemonSet controller adds to its pods. Source: Kubernetes docs, "DaemonSet: Taints and tolerations"."""


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Return whether the labels meet one requirement; NotIn and DoesNotExist hold for an absent label."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            number, bound = whole_number(value or ""), whole_number(requirement.values[0])
            if number is None or bound is None:
                return False
            return number > bound if operator == "Gt" else number < bound
        case operator:
            raise AssertionError(operator)


def selects(selector: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Return whether all requirements hold."""
    return all(holds(r, labels) for r in selector)


def wants_node(pod: Pod, labels: Mapping[str, str]) -> bool:
    """Return whether a node of these labels meets the pod's nodeSelector and required node affinity."""
    return selects(pod.node_selector, labels) and (
        not pod.node_affinity or any(selects(term, labels) for term in pod.node_affinity)
    )


def untolerated(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint that keeps a pod of these tolerations out, or None."""
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not any(_tolerates(t, taint) for t in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.operator == "Equal" and toleration.key == taint.key and toleration.value == taint.value


def whole_number(text: str) -> int | None:
    """Return the number that the scheduler reads in a value of Gt or Lt, or None: also for one beyond 64 bits."""
    if not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if number in _NUMBERS else None


NEVER: Final = Requirement("", "In", ())
"""A requirement that no node meets: a term without expressions selects nothing."""


def is_about_its_node(term: PodTerm, namespace: str) -> bool:
    """Return whether a term of a pod in this namespace looks at pods of that namespace on the same node only."""
    return (
        term.topology_key == LABEL_HOSTNAME
        and term.namespaces == frozenset({namespace})
        and term.namespace_selector is None
    )


def reaches_volumes(pod: Pod, labels: Mapping[str, str]) -> bool:
    """Return whether every volume of the pod can be used from a node of these labels."""
    return all(any(selects(term, labels) for term in terms) for terms in pod.volume_terms)


def is_of_system(pod: Pod, labels: Mapping[str, str]) -> bool:
    """Return whether the kubelet of a node of these labels runs pods of this operating system.

    Source: Kubernetes API reference, Pod, spec.os; kubelet's admission, PodOSNotSupported.
    """
    return not pod.system or labels.get(LABEL_OS, pod.system) == pod.system


def suits(pod: Pod, labels: Mapping[str, str], taints: Iterable[Taint]) -> bool:
    """Return whether a node of these labels and taints suits the pod and its volumes, whatever room it has."""
    return (
        wants_node(pod, labels)
        and is_of_system(pod, labels)
        and untolerated(pod.tolerations, taints) is None
        and reaches_volumes(pod, labels)
    )
