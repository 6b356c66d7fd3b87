"""What a pod's annotations say of its eviction, and pods that belong to their node without a DaemonSet.

Read as plain JSON, as a pod that the planner cannot read is kept or moved like every other. Growth's own words mean the
same as Cluster Autoscaler's and go before them; a value that means nothing counts as absent and is told.
Source: Cluster Autoscaler, FAQ, "What types of pods can prevent CA from removing a node?"; Longhorn,
enhancements/20220408-support-kubernetes-ca; Istio and Linkerd, injected pods.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from api.keys import (
    ANNOTATION_SAFE_TO_EVICT,
    ANNOTATION_SAFE_VOLUMES,
    LABEL_HOSTNAME,
    OTHERS_SAFE_TO_EVICT,
    OTHERS_SAFE_VOLUMES,
)

Json = Mapping[str, Any]
_ANSWERS: Final[Mapping[str, bool]] = {"true": True, "false": False, "on-completion": False}
"""Whether the pod may be evicted: one that says on-completion ends by itself."""
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


def misread(annotations: Json) -> str:
    """Return a sentence on the annotations about eviction that mean nothing; empty if all mean something."""
    wrong = [
        f"{key}={' '.join(str(annotations[key]).split())[:60]}"
        for key in (ANNOTATION_SAFE_TO_EVICT, OTHERS_SAFE_TO_EVICT)
        if _word(annotations, key) and _word(annotations, key) not in _ANSWERS
    ]
    return f"{', '.join(wrong)} has no effect: say {', '.join(_ANSWERS)}" if wrong else ""


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
