"""Pods as the planner judges them, and the names of those constraints it does not judge yet."""

from collections.abc import Iterator
from typing import Final

from api.keys import LABEL_HOSTNAME
from planner.effective_request import effective_request
from planner.json_part import FieldError, Part
from planner.objects import Owner, Pod, Requirement, Toleration

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_MIRROR: Final = "kubernetes.io/config.mirror"
_VALUED: Final = ("In", "NotIn")
_BARE: Final = ("Exists", "DoesNotExist")
_NUMERIC: Final = ("Gt", "Lt")
_DISKS: Final = (
    "persistentVolumeClaim",
    "ephemeral",
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "gcePersistentDisk",
    "iscsi",
    "rbd",
)
"""Volumes that tie a pod to a zone, count against a node's limit, or may be mounted once only."""
NEVER: Final = Requirement("", "In", ())
"""A requirement that no node meets: an affinity term without expressions selects nothing."""


def pod_from(metadata: Part, spec: Part, status: Part) -> Pod:
    """Return the pod that these parts of an object, or of a template, describe.

    Raises:
        FieldError: a field cannot be read.
    """
    namespace = metadata.text("namespace") or "default"
    name = metadata.text("name")
    owner = _owner(metadata)
    labels = metadata.text_map("labels")
    affinity = spec.part("affinity")
    terms, fields = _node_affinity(affinity)
    keeps_away, unread = _anti_affinity(affinity, namespace, labels)
    return Pod(
        namespace=namespace,
        name=name,
        uid=metadata.text("uid") or f"{namespace}/{name}",
        requests=effective_request(spec),
        labels=labels,
        node_name=spec.text("nodeName"),
        phase=status.text("phase") or "Pending",
        owner=owner,
        node_selector=tuple(
            Requirement(key, "In", (value,)) for key, value in sorted(spec.text_map("nodeSelector").items())
        ),
        node_affinity=terms,
        tolerations=tuple(_toleration(t) for t in spec.parts("tolerations")),
        hostname_anti_affinity=keeps_away,
        priority=spec.number("priority"),
        is_daemon=owner is not None and owner.kind == "DaemonSet",
        is_mirror=_MIRROR in metadata.text_map("annotations"),
        is_terminating=metadata.has("deletionTimestamp"),
        is_gated=any(True for _ in spec.parts("schedulingGates")),
        is_unschedulable=_is_unschedulable(status),
        created_at=metadata.moment("creationTimestamp"),
        unjudged=(*fields, *unread, *_unjudged(spec)),
    )


def _owner(metadata: Part) -> Owner | None:
    for reference in metadata.parts("ownerReferences"):
        if reference.flag("controller"):
            return Owner(reference.text("kind"), reference.text("name"), reference.text("uid"))
    return None


def _is_unschedulable(status: Part) -> bool:
    return any(
        c.text("type") == "PodScheduled" and c.text("status") == "False" and c.text("reason") == "Unschedulable"
        for c in status.parts("conditions")
    )


def _node_affinity(affinity: Part) -> tuple[tuple[tuple[Requirement, ...], ...], list[str]]:
    """Return the required terms, and the paths of what they hold beyond labels."""
    required = affinity.part("nodeAffinity").part(_REQUIRED)
    terms: list[tuple[Requirement, ...]] = []
    unjudged: list[str] = []
    for term in required.parts("nodeSelectorTerms"):
        expressions = tuple(_requirement(e) for e in term.parts("matchExpressions"))
        if any(True for _ in term.parts("matchFields")):
            unjudged.append(term.where("matchFields"))
            terms.append(expressions)
        else:
            terms.append(expressions or (NEVER,))
    if required.value and not terms:
        terms.append((NEVER,))
    return tuple(terms), unjudged


def _requirement(expression: Part) -> Requirement:
    key, operator, values = expression.name("key"), expression.text("operator"), expression.texts("values")
    if operator in _VALUED and not values:
        raise FieldError(expression.where("values"), f"{operator} needs at least one value")
    if operator in _NUMERIC and not (len(values) == 1 and values[0].removeprefix("-").isdecimal()):
        raise FieldError(expression.where("values"), f"{operator} needs one whole number as text")
    if operator not in (*_VALUED, *_BARE, *_NUMERIC):
        known = ", ".join((*_VALUED, *_BARE, *_NUMERIC))
        raise FieldError(expression.where("operator"), f"{operator!r} is not one of {known}")
    return Requirement(key, operator, values)


def _toleration(part: Part) -> Toleration:
    return Toleration(part.text("key"), part.text("operator") or "Equal", part.text("value"), part.text("effect"))


def _anti_affinity(
    affinity: Part, namespace: str, labels: dict[str, str]
) -> tuple[tuple[tuple[Requirement, ...], ...], list[str]]:
    """Return the selectors of pods that must not be on the same node, and the paths of terms of other kinds."""
    selectors: list[tuple[Requirement, ...]] = []
    unjudged: list[str] = []
    for term in affinity.part("podAntiAffinity").parts(_REQUIRED):
        if term.text("topologyKey") != LABEL_HOSTNAME:
            unjudged.append(f"{term.path} (topologyKey {term.text('topologyKey')})")
        elif term.has("namespaceSelector"):
            unjudged.append(term.where("namespaceSelector"))
        elif set(term.texts("namespaces")) - {namespace}:
            unjudged.append(term.where("namespaces"))
        elif term.has("labelSelector"):
            # Without a selector, a term selects no pod.
            selectors.append((*label_selector(term.part("labelSelector")), *_same_labels(term, labels)))
    return tuple(selectors), unjudged


def label_selector(selector: Part) -> tuple[Requirement, ...]:
    """Return the requirements of a label selector; none means that it selects everything.

    Raises:
        FieldError: a field cannot be read.
    """
    pairs = (Requirement(key, "In", (value,)) for key, value in sorted(selector.text_map("matchLabels").items()))
    return (*pairs, *(_requirement(e) for e in selector.parts("matchExpressions")))


def _same_labels(term: Part, labels: dict[str, str]) -> Iterator[Requirement]:
    # The API server writes these into the selector at creation; pods from files lack that.
    for key in term.texts("matchLabelKeys"):
        if key in labels:
            yield Requirement(key, "In", (labels[key],))
    for key in term.texts("mismatchLabelKeys"):
        if key in labels:
            yield Requirement(key, "NotIn", (labels[key],))


def _unjudged(spec: Part) -> Iterator[str]:
    if any(True for _ in spec.part("affinity").part("podAffinity").parts(_REQUIRED)):
        yield "spec.affinity.podAffinity"
    for constraint in spec.parts("topologySpreadConstraints"):
        if (constraint.text("whenUnsatisfiable") or "DoNotSchedule") == "DoNotSchedule":
            yield constraint.path
    for volume in spec.parts("volumes"):
        yield from (volume.where(kind) for kind in _DISKS if volume.has(kind))
    on_host = spec.flag("hostNetwork")
    for group in ("containers", "initContainers"):
        for container in spec.parts(group):
            yield from _host_ports(container, on_host=on_host)
    if spec.part("resources").value:
        yield "spec.resources"
    if any(True for _ in spec.parts("resourceClaims")):
        yield "spec.resourceClaims"
    for toleration in spec.parts("tolerations"):
        if toleration.text("operator") not in ("", "Equal", "Exists"):
            yield toleration.where("operator")


def _host_ports(container: Part, *, on_host: bool) -> Iterator[str]:
    for port in container.parts("ports"):
        if on_host or port.number("hostPort"):
            yield port.where("hostPort")
