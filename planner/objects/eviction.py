"""What annotations of pods and Nodes say of eviction, and pods that belong to their node without a DaemonSet.

Read as plain JSON, as a pod that the planner cannot read is kept or moved like every other. Growth's own words mean the
same as Cluster Autoscaler's and Karpenter's and go before them; a value that means nothing is told, and counts as none.
Source: Cluster Autoscaler, FAQ, "What types of pods can prevent CA from removing a node?"; Karpenter docs, "Well-Known
Annotations"; Longhorn, enhancements/20220408-support-kubernetes-ca; Istio and Linkerd, injected pods.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from api.duration import parse_duration
from api.keys import (
    ANNOTATION_SAFE_TO_EVICT,
    ANNOTATION_SAFE_VOLUMES,
    LABEL_HOSTNAME,
    OTHERS_DO_NOT_DISRUPT,
    OTHERS_SAFE_TO_EVICT,
    OTHERS_SAFE_VOLUMES,
    OTHERS_SCALE_DOWN_DISABLED,
)

Json = Mapping[str, Any]
_ANSWERS: Final[Mapping[str, bool]] = {"true": True, "false": False, "on-completion": False}
"""Whether the pod may be evicted: one that says on-completion ends by itself."""
_SWITCH: Final = ("true", "false")
_WORKLOADS: Final = frozenset(
    {
        "CloneSet",
        "CronJob",
        "DaemonSet",
        "Deployment",
        "GameServer",
        "Job",
        "Node",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "VirtualMachineInstance",
    }
)
"""Controllers whose pods are somebody's work wherever they run, or that are known otherwise."""
_SIDECAR_VOLUMES: Final[Mapping[str, frozenset[str]]] = {
    "istio-proxy": frozenset({"credential-socket", "istio-data", "istio-envoy", "workload-certs", "workload-socket"}),
    "linkerd-proxy": frozenset({"linkerd-identity-end-entity", "linkerd-proxy-init-xtables-lock"}),
}
"""By container of a service mesh, its emptyDirs: sockets, certificates and generated configuration."""


def wish(annotations: Json) -> tuple[str, bool] | None:
    """Return annotation and answer of whether the pod may be evicted, None if nothing says so."""
    for key in (ANNOTATION_SAFE_TO_EVICT, OTHERS_SAFE_TO_EVICT):
        answer = _ANSWERS.get(_word(annotations, key))
        if answer is not None:
            return key, answer
    return None


def protection(annotations: Json) -> timedelta | None:
    """Return for how long from its start the pod is not disrupted, `timedelta.max` without end, None if not at all.

    Source: kubernetes-sigs/karpenter, designs/do-not-disrupt-grace-period.md.
    """
    word = _word(annotations, OTHERS_DO_NOT_DISRUPT)
    if word == "true":
        return timedelta.max
    try:
        return parse_duration(word) if word else None
    except ValueError:
        return None


def keeps_node(annotations: Json) -> str:
    """Return the annotation of others that keeps a Node from being emptied by a policy; empty if there is none."""
    keys = (OTHERS_SCALE_DOWN_DISABLED, OTHERS_DO_NOT_DISRUPT)
    return next((key for key in keys if _word(annotations, key) == "true"), "")


def misread(annotations: Json) -> str:
    """Return a sentence on a pod's annotations about eviction that mean nothing; empty if all mean something."""
    words = _unknown(annotations, (ANNOTATION_SAFE_TO_EVICT, OTHERS_SAFE_TO_EVICT), _ANSWERS)
    if protection(annotations) is not None:
        return words
    times = _unknown(annotations, (OTHERS_DO_NOT_DISRUPT,), _SWITCH, further=", or a time from its start such as 30m")
    return "; ".join(part for part in (words, times) if part)


def misread_of_node(annotations: Json) -> str:
    """Return a sentence on a Node's annotations about its removal that mean nothing; empty if all mean something."""
    return _unknown(annotations, (OTHERS_SCALE_DOWN_DISABLED, OTHERS_DO_NOT_DISRUPT), _SWITCH)


def _unknown(annotations: Json, keys: Sequence[str], words: Collection[str], further: str = "") -> str:
    wrong = [
        f"{key}={' '.join(str(annotations[key]).split())[:60]}"
        for key in keys
        if _word(annotations, key) and _word(annotations, key) not in words
    ]
    return f"{', '.join(wrong)} has no effect: say {', '.join(words)}{further}" if wrong else ""


def spared_volumes(annotations: Json, spec: Json) -> frozenset[str]:
    """Return the names of volumes of the pod whose data nobody misses."""
    key = ANNOTATION_SAFE_VOLUMES if _word(annotations, ANNOTATION_SAFE_VOLUMES) else OTHERS_SAFE_VOLUMES
    declared = {name.strip() for name in str(annotations.get(key) or "").split(",")}
    containers = {str(one.get("name")) for part in ("containers", "initContainers") for one in _parts(spec, part)}
    known = {name for container in containers for name in _SIDECAR_VOLUMES.get(container, ())}
    empty = {str(one.get("name")) for one in _parts(spec, "volumes") if one.get("emptyDir") is not None}
    return frozenset(declared | (known & empty))


def is_per_node(metadata: Json, spec: Json) -> bool:
    """Return whether the pod is part of its node, as a DaemonSet's is: no machine stays for it.

    It says that it may be evicted, a controller has it that runs nobody's work, and it belongs to this node: it asks
    for the host, a label of it is the node's name, or its owner is named after the node.
    """
    node, said = spec.get("nodeName"), wish(_part(metadata, "annotations"))
    if not node or said is None or not said[1]:
        return False
    owner = next((one for one in _parts(metadata, "ownerReferences") if one.get("controller")), None)
    if owner is None or owner.get("kind") in _WORKLOADS:
        return False
    name = str(owner.get("name"))
    return (
        node in _part(metadata, "labels").values()
        or name == node
        or name.startswith(f"{node}-")
        or name.endswith(f"-{node}")
        or _asks_for_host(spec)
    )


def _asks_for_host(spec: Json) -> bool:
    if LABEL_HOSTNAME in _part(spec, "nodeSelector"):
        return True
    affinity = _part(_part(spec, "affinity"), "nodeAffinity")
    terms = _parts(_part(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms")
    return bool(terms) and all(any(_names_host(one) for one in _requirements(term)) for term in terms)


def _requirements(term: Json) -> Iterator[Json]:
    yield from _parts(term, "matchExpressions")
    yield from _parts(term, "matchFields")


def _names_host(requirement: Json) -> bool:
    values = requirement.get("values") or ()
    return (
        requirement.get("key") in (LABEL_HOSTNAME, "metadata.name")
        and requirement.get("operator") == "In"
        and len(values) == 1
    )


def _word(annotations: Json, key: str) -> str:
    return str(annotations.get(key) or "").strip().lower()


def _part(item: Json, key: str) -> Json:
    part = item.get(key)
    return part if isinstance(part, Mapping) else {}


def _parts(item: Json, key: str) -> Sequence[Json]:
    parts = item.get(key)
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
