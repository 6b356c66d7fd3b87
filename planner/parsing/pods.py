"""Pods as the planner judges them: requests, ports and volumes, and the constraints that are not judged.

Source: Kubernetes docs, "Pod: hostPort", "Sidecar containers", "Ephemeral volumes"; the scheduler's GetHostPorts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from api.keys import LABEL_REQUEST, LABEL_REQUEST_UID
from planner.objects.eviction import is_per_node, misread, wish
from planner.objects.kinds import (
    NO_PREFERENCES,
    NOT_YET_SCHEDULED,
    HostPort,
    Owner,
    Pod,
    Preferences,
    PreferredNodes,
    Requirement,
    Scheduled,
    Toleration,
)
from planner.objects.stays import stays
from planner.parsing.effective_request import effective_request
from planner.parsing.json_part import Part
from planner.parsing.neighbours import HARD, PREFERRED, REQUIRED, pod_terms, preferred_terms, spreads, weight
from planner.parsing.pod_budget import check_budget
from planner.parsing.selectors import node_terms

_MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_MOST_DIGITS: Final = 10
"""Of 32 bits. Source: Kubernetes docs, "ReplicaSet: Pod deletion cost"."""
_DEFAULT_SCHEDULER: Final = "default-scheduler"
_WORDS: Final = 512
"""Of the scheduler: the rest repeats itself, node by node."""
_OPERATORS: Final = ("Equal", "Exists")
_OF_ONE_NODE: Final = (LABEL_REQUEST, LABEL_REQUEST_UID)
"""Topology keys with a value of its own for each node, as the host name has: that one does what these could."""

# The same few stand on thousands of pods; as one object they are known again without a look at them.
_preferences: Final = lru_cache(maxsize=4096)(Preferences)
_toleration_of: Final = lru_cache(maxsize=4096)(Toleration)
_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared with, not listened on
_INLINE_DISKS: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "gcePersistentDisk",
    "iscsi",
    "portworxVolume",
    "rbd",
)
"""Disks named in the pod itself, of old plugins: they count against a node's limit, or may be mounted once only."""


def pod_from(metadata: Part, spec: Part, status: Part) -> Pod:
    """Return the pod that these parts of an object, or of a template, describe.

    Raises:
        OverBudget: it asks for more than a round judges.
        FieldError: a field cannot be read.
    """
    check_budget(spec)
    namespace = metadata.text("namespace") or "default"
    name = metadata.text("name")
    owner = _owner(metadata)
    labels = metadata.text_map("labels")
    annotations = metadata.text_map("annotations")
    affinity = spec.part("affinity")
    tolerations = tuple(_toleration(t) for t in spec.parts("tolerations"))
    is_unschedulable, scheduled = _told(status)
    return Pod(
        namespace=namespace,
        name=name,
        uid=metadata.text("uid") or f"{namespace}/{name}",
        requests=effective_request(spec, status),
        labels=labels,
        node_name=spec.text("nodeName"),
        nominated_node=status.text("nominatedNodeName"),
        phase=status.text("phase") or "Pending",
        owner=owner,
        node_selector=tuple(
            Requirement(key, "In", (value,)) for key, value in sorted(spec.text_map("nodeSelector").items())
        ),
        node_affinity=_node_affinity(affinity.part("nodeAffinity")),
        tolerations=tolerations,
        pod_affinity=pod_terms(affinity.part("podAffinity"), namespace, labels),
        pod_anti_affinity=pod_terms(affinity.part("podAntiAffinity"), namespace, labels),
        spread=spreads(spec, labels),
        preferences=_preferences_of(affinity, spec, namespace, labels),
        host_ports=host_ports(spec),
        claims=claims(spec, name),
        priority=spec.number("priority"),
        deletion_cost=_deletion_cost(annotations),
        is_daemon=owner is not None and owner.kind == "DaemonSet",
        is_mirror=_MIRROR in annotations,
        is_per_node=is_per_node(metadata.value, spec.value),
        misread=misread(annotations),
        stays=stays(metadata.value, spec.value, status.value),
        is_safe_to_evict=(wish(annotations) or ("", False))[1],
        is_ready=any(c.text("type") == "Ready" and c.text("status") == "True" for c in status.parts("conditions")),
        is_terminating=metadata.has("deletionTimestamp"),
        ends_at=metadata.moment("deletionTimestamp"),
        is_gated=any(True for _ in spec.parts("schedulingGates")),
        is_unschedulable=is_unschedulable,
        scheduler="" if (scheduler := spec.text("schedulerName")) == _DEFAULT_SCHEDULER else scheduler,
        scheduled=scheduled,
        created_at=metadata.moment("creationTimestamp"),
        system=spec.part("os").text("name"),
        unjudged=tuple(_unjudged(spec, tolerations)),
    )


def _deletion_cost(annotations: Mapping[str, str]) -> int:
    """Return the pod's deletion cost; one that is none counts as absent, as it does to a ReplicaSet."""
    text = annotations.get(_DELETION_COST, "")
    digits = text.removeprefix("-")
    is_number = digits.isdecimal() and digits.isascii() and len(digits) <= _MOST_DIGITS
    return int(text) if is_number else 0


def over_budget_pod(metadata: Part, spec: Part, status: Part, excess: str) -> Pod:
    """Return a pod that asks for more than a round judges: who it is and where, without what it asks for.

    Raises:
        FieldError: a field cannot be read.
    """
    identity = {key: spec.value[key] for key in ("nodeName", "priority", "schedulingGates") if key in spec.value}
    pod = pod_from(metadata, Part(identity, spec.path), status)
    all_stays = stays(metadata.value, spec.value, status.value)
    return replace(pod, requests={}, over_budget=excess, is_unreadable=bool(pod.lands_on), stays=all_stays)


def _owner(metadata: Part) -> Owner | None:
    for reference in metadata.parts("ownerReferences"):
        if reference.flag("controller"):
            return Owner(reference.text("kind"), reference.text("name"), reference.text("uid"))
    return None


def _told(status: Part) -> tuple[bool, Scheduled]:
    """Return whether the scheduler finds no place for the pod, and what it said of it first."""
    conditions = [condition for condition in status.parts("conditions") if condition.text("type") == "PodScheduled"]
    if not conditions:
        return False, NOT_YET_SCHEDULED
    first = conditions[0]
    message = " ".join(first.text("message").split())[:_WORDS]
    scheduled = Scheduled(is_told=True, since=first.moment("lastTransitionTime"), message=message)
    return any(c.text("status") == "False" and c.text("reason") == "Unschedulable" for c in conditions), scheduled


def _node_affinity(affinity: Part) -> tuple[tuple[Requirement, ...], ...]:
    """Return the required terms; a condition without terms selects no node, as for the scheduler."""
    return node_terms(affinity.part(REQUIRED).parts("nodeSelectorTerms")) if affinity.has(REQUIRED) else ()


def _preferences_of(affinity: Part, spec: Part, namespace: str, labels: Mapping[str, str]) -> Preferences:
    # Most pods have none, and thousands of them are read in one go.
    if not (affinity.value or spec.has("topologySpreadConstraints")):
        return NO_PREFERENCES
    return _preferences(
        _preferred_nodes(affinity.part("nodeAffinity")),
        preferred_terms(affinity.part("podAffinity"), namespace, labels),
        preferred_terms(affinity.part("podAntiAffinity"), namespace, labels),
        spreads(spec, labels, is_soft=True),
    )


def _preferred_nodes(affinity: Part) -> tuple[PreferredNodes, ...]:
    # A preference without expressions selects no node, as for the scheduler.
    return tuple(
        PreferredNodes(weight(part), *node_terms(iter((part.part("preference"),))))
        for part in affinity.parts(PREFERRED)
    )


def _toleration(part: Part) -> Toleration:
    return _toleration_of(part.text("key"), part.text("operator") or "Equal", part.text("value"), part.text("effect"))


def _unjudged(spec: Part, tolerations: Sequence[Toleration]) -> Iterator[str]:
    yield from inline_disks(spec)
    if any(True for _ in spec.parts("resourceClaims")):
        yield "spec.resourceClaims"
    if spec.has("affinity") or spec.has("topologySpreadConstraints"):
        terms = _hard_terms(spec)
        yield from (term.where("topologyKey") for term in terms if term.text("topologyKey") in _OF_ONE_NODE)
    # Comparing numbers is off in clusters unless they turn it on, and no object says whether they did.
    unknown = {i for i, toleration in enumerate(tolerations) if toleration.operator not in _OPERATORS}
    if unknown:
        yield from (part.where("operator") for i, part in enumerate(spec.parts("tolerations")) if i in unknown)


def _hard_terms(spec: Part) -> Iterator[Part]:
    affinity = spec.part("affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from affinity.part(kind).parts(REQUIRED)
    yield from (c for c in spec.parts("topologySpreadConstraints") if c.text("whenUnsatisfiable") == HARD)


def host_ports(spec: Part) -> tuple[HostPort, ...]:
    """Return the ports of the node that containers and sidecars take; with hostNetwork these are all their ports.

    Only "" and 0.0.0.0 are every address, as for the scheduler: `::` is an address like others.

    Raises:
        FieldError: a field cannot be read.
    """
    on_host = spec.flag("hostNetwork")
    ports: list[HostPort] = []
    for container in _lasting(spec):
        for part in container.parts("ports"):
            # The API server fills in hostPort on the host network; pods from files and templates lack that.
            number = part.number("hostPort") or (part.number("containerPort") if on_host else 0)
            if number > 0:
                ip = part.text("hostIP")
                ip = "" if ip == _EVERY_ADDRESS else ip
                ports.append(HostPort(port=number, protocol=part.text("protocol") or "TCP", ip=ip))
    return tuple(dict.fromkeys(ports))


def claims(spec: Part, pod: str) -> tuple[str, ...]:
    """Return the names of the persistent volume claims that the pod of this name uses.

    Raises:
        FieldError: a field cannot be read.
    """
    names: list[str] = []
    for volume in spec.parts("volumes"):
        if volume.has("persistentVolumeClaim"):
            names.append(volume.part("persistentVolumeClaim").name("claimName"))
        elif volume.has("ephemeral"):
            names.append(f"{pod}-{volume.name('name')}")
    return tuple(dict.fromkeys(names))


def inline_disks(spec: Part) -> Iterator[str]:
    """Yield the paths of volumes that the planner does not judge.

    Raises:
        FieldError: a field cannot be read.
    """
    for volume in spec.parts("volumes"):
        if not volume.value.keys().isdisjoint(_INLINE_DISKS):
            yield from (volume.where(kind) for kind in _INLINE_DISKS if volume.has(kind))


def _lasting(spec: Part) -> Iterator[Part]:
    """Yield the containers that run as long as the pod does."""
    yield from (c for c in spec.parts("initContainers") if c.text("restartPolicy") == "Always")
    yield from spec.parts("containers")
