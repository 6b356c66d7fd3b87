"""CapacityBuffers and what they refer to, read as so many pods of a template.

Source: SIG Autoscaling, CapacityBuffer of autoscaling.x-k8s.io/v1alpha1 and v1beta1, and its proposal: as many as the
larger of `replicas` and `percentage`, rounded up, as far as `limits` go; kubernetes/autoscaler #9948.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from api.keys import ANNOTATION_CAPACITY_BUFFER
from api.meta import read_moment
from planner.objects.capacity_buffer import CapacityBuffer
from planner.objects.kinds import Pod
from planner.parsing.json_part import FieldError, Part
from planner.parsing.limit_ranges import LimitRanges
from planner.parsing.pods import pod_from

Json = Mapping[str, Any]

MOST_BUFFERS: Final = 100
MOST_PODS: Final = 1000
"""Of one buffer, as of one entry of a pool's headroom."""
MOST_PODS_TOGETHER: Final = 16_000
"""Of all buffers, as of all entries of one pool."""
READY: Final = "ReadyForProvisioning"
PROVISIONING: Final = "Provisioning"
READ: Final = "ReadByGrowth"
ROOM_KEPT: Final = "RoomKept"
NO_ROOM: Final = "NoRoom"
TEMPLATE_NOT_FOUND: Final = "TemplateNotFound"
MAY_NOT_READ: Final = "MayNotReadTemplate"
KIND_NOT_READ: Final = "KindNotRead"
UNREADABLE: Final = "UnreadableByGrowth"
REFUSED: Final = "PodsRefused"
TOO_MANY: Final = "TooManyBuffers"
OWN_REASONS: Final = frozenset(
    {READ, ROOM_KEPT, NO_ROOM, TEMPLATE_NOT_FOUND, MAY_NOT_READ, KIND_NOT_READ, UNREADABLE, REFUSED, TOO_MANY}
)
"""Of conditions that Growth writes: what has others is another program's."""
ANSWERED_WITHIN: Final = timedelta(seconds=15)
"""Another program that serves buffers has answered by then: Cluster Autoscaler's looks every five seconds."""
ACTIVE_CAPACITY: Final = "buffer.x-k8s.io/active-capacity"
"""The strategy of a buffer that names none."""
_POD_TEMPLATE: Final = ("", "PodTemplate")
_REPLICAS: Final = {
    ("apps", "Deployment"): "replicas",
    ("apps", "ReplicaSet"): "replicas",
    ("apps", "StatefulSet"): "replicas",
    ("batch", "Job"): "parallelism",
}
"""Kinds that a buffer may refer to by group and name, and the field of how many pods they have, 1 if absent."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The object that has the template of a buffer's pods, in the buffer's namespace."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def text(self) -> str:
        """Kind and name in a sentence."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why an object that a buffer refers to was not read."""

    code: str
    message: str


def is_served(item: Json, now: datetime | None) -> bool:
    """Return whether the buffer is Growth's to serve; with `now`, not before others had the time to answer it.

    Not one of another strategy, nor one that another program has answered; the annotation growth.dev/capacity-buffer
    says otherwise: `false` leaves it to others, `true` takes it over.
    """
    metadata, spec = _map(item.get("metadata")), _map(item.get("spec"))
    wish = _map(metadata.get("annotations")).get(ANNOTATION_CAPACITY_BUFFER)
    strategy = spec.get("provisioningStrategy")
    if metadata.get("deletionTimestamp") or wish == "false" or (strategy or ACTIVE_CAPACITY) != ACTIVE_CAPACITY:
        return False
    reasons = {each.get("reason") for each in conditions_of(item) if each.get("type") in (READY, PROVISIONING)}
    if wish == "true" or (reasons and reasons <= OWN_REASONS):
        return True
    due = due_at(item)
    return not reasons and (now is None or due is None or now >= due)


def due_at(item: Json) -> datetime | None:
    """Return from when on a buffer counts as answered by nobody; None where its age is unknown."""
    born = read_moment(str(_map(item.get("metadata")).get("creationTimestamp") or ""))
    return None if born is None else born + ANSWERED_WITHIN


def conditions_of(item: Json) -> list[dict[str, Any]]:
    """Return the conditions of the object, as far as they are any."""
    conditions = _map(item.get("status")).get("conditions")
    return [each for each in conditions if isinstance(each, dict)] if isinstance(conditions, list) else []


def reference_of(item: Json) -> Reference | Missing:
    """Return what the buffer refers to, or why that cannot be read."""
    try:
        root = Part(item)
        namespace, spec = root.part("metadata").text("namespace") or "default", root.part("spec")
        if spec.has("podTemplateRef") == spec.has("scalableRef"):
            return Missing(UNREADABLE, "spec: either podTemplateRef or scalableRef is needed")
        if spec.has("podTemplateRef"):
            return Reference(*_POD_TEMPLATE, namespace, spec.part("podTemplateRef").name("name"))
        scalable = spec.part("scalableRef")
        group, kind, name = scalable.text("apiGroup"), scalable.name("kind"), scalable.name("name")
    except FieldError as error:
        return Missing(UNREADABLE, str(error))
    if (group, kind) in _REPLICAS:
        return Reference(group, kind, namespace, name)
    known = ", ".join(f"{known_kind} of {known_group}" for known_group, known_kind in _REPLICAS)
    shown = f"{kind} of {group}" if group else f"{kind} without an apiGroup"
    return Missing(KIND_NOT_READ, f"spec.scalableRef: {shown} is not read: {known} are; or name a PodTemplate")


def in_order(items: Iterable[Json]) -> list[Json]:
    """Return the buffers in the order in which they are served where there are too many: the oldest first."""
    keys = ("creationTimestamp", "namespace", "name")
    return sorted(items, key=lambda item: [str(_map(item.get("metadata")).get(key) or "") for key in keys])


def read_buffers(
    items: Sequence[Json], targets: Mapping[Reference, Json | Missing], ranges: LimitRanges
) -> tuple[CapacityBuffer, ...]:
    """Return the buffers, in their order; what cannot be read stops no other.

    One whose target is not among `targets` is left out: nobody could tell what it is.
    """
    buffers: list[CapacityBuffer] = []
    left = MOST_PODS_TOGETHER
    for number, item in enumerate(items):
        reference = reference_of(item)
        if number >= MOST_BUFFERS:
            reference = Missing(TOO_MANY, f"at most {MOST_BUFFERS} buffers are served, the oldest first")
        target = reference if isinstance(reference, Missing) else targets.get(reference)
        if target is None:
            continue
        if isinstance(target, Missing):
            buffers.append(_unserved(item, target))
        elif isinstance(reference, Reference):
            buffers.append(_bounded(_read(item, reference, target, ranges), left))
            left -= buffers[-1].count
    return tuple(buffers)


def _bounded(buffer: CapacityBuffer, left: int) -> CapacityBuffer:
    """Return the buffer with no more pods than are left of those of all buffers."""
    if buffer.count <= left:
        return buffer
    most = f"{left:,} of {buffer.count:,} pods are counted: at most {MOST_PODS_TOGETHER:,} of all buffers"
    return replace(buffer, count=left, message=most)


def _unserved(item: Json, missing: Missing) -> CapacityBuffer:
    return replace(_identity(item), code=missing.code, message=missing.message)


def _identity(item: Json) -> CapacityBuffer:
    metadata = _map(item.get("metadata"))
    namespace, name = str(metadata.get("namespace") or "default"), str(metadata.get("name"))
    return CapacityBuffer(namespace, name, str(metadata.get("uid") or f"{namespace}/{name}"))


def _read(item: Json, reference: Reference, target: Json, ranges: LimitRanges) -> CapacityBuffer:
    buffer, namespace = _identity(item), reference.namespace
    is_template = (reference.group, reference.kind) == _POD_TEMPLATE
    try:
        root = Part(target)
        part = (root if is_template else root.part("spec")).part("template")
        spec = Part(ranges.completed(namespace, part.part("spec").value), part.where("spec"))
        pod = pod_from(part.part("metadata"), spec, Part({}))
        refusal = ranges.refusal(namespace, spec.value)
    except FieldError as error:
        return replace(buffer, code=UNREADABLE, message=f"{reference.text}: {error}")
    if refusal:
        return replace(buffer, code=REFUSED, message=refusal)
    try:
        count, note = _count(Part(item).part("spec"), pod, None if is_template else _scale(root, reference))
    except FieldError as error:
        return replace(buffer, code=UNREADABLE, message=str(error))
    buffer = replace(buffer, count=count, message=note, template=_as_headroom(pod))
    if not is_template:
        return buffer
    generation = _map(target.get("metadata")).get("generation")
    return replace(
        buffer, template_name=reference.name, template_generation=generation if isinstance(generation, int) else None
    )


def _scale(root: Part, reference: Reference) -> int:
    spec, field = root.part("spec"), _REPLICAS[reference.group, reference.kind]
    return spec.number(field) if spec.has(field) else 1


def _count(spec: Part, pod: Pod, scale: int | None) -> tuple[int, str]:
    """Return how many pods, and what to say of that."""
    wanted = [spec.number("replicas")] if spec.has("replicas") else []
    if spec.has("percentage") and scale is not None:
        wanted.append(-(-spec.number("percentage") * scale // 100))
    most = _most(spec, pod) if spec.has("limits") else None
    if not wanted and most is None:
        raise FieldError(spec.path, "replicas, limits, or percentage of a scalableRef is needed")
    count = max(0, *wanted) if wanted else most or 0
    count = count if most is None else min(count, most)
    if count <= MOST_PODS:
        return count, ""
    return MOST_PODS, f"{MOST_PODS:,} of {count:,} pods are counted: at most {MOST_PODS:,} of one buffer"


def _most(spec: Part, pod: Pod) -> int:
    limits = spec.amounts("limits")
    most = [limits[name] // amount for name, amount in pod.requests.items() if amount and name in limits]
    if not most:
        raise FieldError(spec.where("limits"), "names nothing that the pods request")
    return min(most)


def _as_headroom(pod: Pod) -> Pod:
    """Return what headroom takes into account of a pod: its size, and which machines it may be on."""
    return Pod(
        namespace="",
        name="",
        uid="",
        requests=pod.requests,
        node_selector=pod.node_selector,
        node_affinity=pod.node_affinity,
        tolerations=pod.tolerations,
        system=pod.system,
        is_unschedulable=True,
    )


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
