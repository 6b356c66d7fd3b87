"""API JSON to planner objects: exact integers, and one clear line for an object that cannot be read.

Such an object keeps its place: a pod takes room on its node, and a node is a machine of its pool, although its amounts
are unknown. Without them an occupied machine would seem idle, and one more would be bought beside one that exists.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from planner.model.plan import TOO_MUCH, Problem
from planner.objects.counted_pods import heeded
from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.kinds import DaemonSet, Node, NodeCondition, Pod, Taint
from planner.objects.stays import stays
from planner.objects.storage import Claim, CsiNode, StorageClass, Volume, Volumes
from planner.parsing.disruption_budgets import disruption_budget_from
from planner.parsing.json_part import FieldError, Part
from planner.parsing.limit_ranges import LimitRange, limit_range_from
from planner.parsing.pod_budget import OverBudget
from planner.parsing.pods import over_budget_pod, pod_from
from planner.parsing.volumes import claim_from, csi_node_from, storage_class_from, volume_from, with_drivers

T = TypeVar("T")
Json = Mapping[str, Any]
"""An object of the API."""
Namespace = tuple[str, Mapping[str, str]]
"""Name and labels."""
_GENERATION: Final = re.compile(r"[0-9]{1,18}")
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The API server gives it to every namespace; a selector may name one by it."""


class UnreadableObject(ValueError):
    """An object that cannot be read; the text names kind, object and field in one line.

    `remains` is the part of it that could be read, as an object of its kind; None where that is of no use.
    """

    def __init__(self, problem: Problem, remains: Pod | Node | None = None) -> None:
        super().__init__(f"{problem.kind} {problem.name}: {problem.message}")
        self.problem = problem
        self.remains = remains


@dataclass(frozen=True, slots=True)
class Parsed:
    """The objects that could be read, and the problems of the others."""

    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels by name."""
    volumes: Volumes = Volumes()
    disruption_budgets: tuple[DisruptionBudget, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_pod(pod: Json) -> Pod:
    """Return the pod.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("Pod", pod, _pod, pod_remains)


def parse_node(node: Json) -> Node:
    """Return the node.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("Node", node, _node, node_remains)


def parse_daemon_set(daemon_set: Json) -> DaemonSet:
    """Return the DaemonSet.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("DaemonSet", daemon_set, _daemon_set)


def parse_namespace(namespace: Json) -> Namespace:
    """Return name and labels of the namespace.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("Namespace", namespace, _namespace)


def parse_claim(claim: Json) -> Claim:
    """Return the PersistentVolumeClaim.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("PersistentVolumeClaim", claim, claim_from)


def parse_volume(volume: Json) -> Volume:
    """Return the PersistentVolume.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("PersistentVolume", volume, volume_from)


def parse_storage_class(storage_class: Json) -> StorageClass:
    """Return the StorageClass.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("StorageClass", storage_class, storage_class_from)


def parse_csi_node(csi_node: Json) -> CsiNode:
    """Return the CSINode.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("CSINode", csi_node, csi_node_from)


def parse_limit_range(limit_range: Json) -> LimitRange:
    """Return the LimitRange.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("LimitRange", limit_range, limit_range_from)


def parse_disruption_budget(budget: Json) -> DisruptionBudget:
    """Return the PodDisruptionBudget.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("PodDisruptionBudget", budget, disruption_budget_from)


def parse_objects(
    *,
    pods: Iterable[Json] = (),
    nodes: Iterable[Json] = (),
    daemon_sets: Iterable[Json] = (),
    namespaces: Iterable[Json] = (),
    claims: Iterable[Json] = (),
    volumes: Iterable[Json] = (),
    storage_classes: Iterable[Json] = (),
    csi_nodes: Iterable[Json] = (),
    disruption_budgets: Iterable[Json] = (),
) -> Parsed:
    """Return all objects that can be read, and a problem for each that cannot: it stops no other.

    Nodes have the limits and topology keys of their CSINodes, and pods only the nominations that mean something.
    The effects of claims are not on the pods yet: see `volume_places.resolve`.
    """
    problems: list[Problem] = []

    def readable(kind: type[T], parse: Callable[[Json], T], objects: Iterable[Json]) -> tuple[T, ...]:
        parsed: list[T] = []
        for item in objects:
            try:
                parsed.append(parse(item))
            except UnreadableObject as error:
                problems.append(error.problem)
                if isinstance(error.remains, kind):
                    parsed.append(error.remains)
        return tuple(parsed)

    read_pods, read_nodes = readable(Pod, parse_pod, pods), readable(Node, parse_node, nodes)
    return Parsed(
        pods=heeded(read_pods, read_nodes),
        nodes=with_drivers(read_nodes, readable(CsiNode, parse_csi_node, csi_nodes)),
        daemon_sets=readable(DaemonSet, parse_daemon_set, daemon_sets),
        namespaces=dict(readable(tuple, parse_namespace, namespaces)),
        volumes=Volumes(
            claims=readable(Claim, parse_claim, claims),
            volumes=readable(Volume, parse_volume, volumes),
            classes=readable(StorageClass, parse_storage_class, storage_classes),
        ),
        disruption_budgets=readable(DisruptionBudget, parse_disruption_budget, disruption_budgets),
        problems=tuple(problems),
    )


def _named(
    kind: str, item: Json, read: Callable[[Part], T], remains: Callable[[object], Pod | Node | None] = lambda _: None
) -> T:
    try:
        root = Part(item)
        root.part("metadata").name("name")
        return read(root)
    except FieldError as error:
        uid = text_in(item, "metadata", "uid")
        if isinstance(error, OverBudget):
            problem = Problem(kind=kind, name=_name(item), message=str(error), uid=uid, reason=TOO_MUCH)
            raise UnreadableObject(problem, _over_budget(item, error) if kind == "Pod" else None) from None
        raise UnreadableObject(
            Problem(kind=kind, name=_name(item), message=str(error), uid=uid), remains(item)
        ) from None


def _over_budget(item: Json, excess: OverBudget) -> Pod | None:
    root = Part(item)
    try:
        return over_budget_pod(root.part("metadata"), root.part("spec"), root.part("status"), str(excess))
    except FieldError:
        return pod_remains(item)


def _name(item: object) -> str:
    name = text_in(item, "metadata", "name") or "without a name"
    namespace = text_in(item, "metadata", "namespace")
    return f"{namespace}/{name}" if namespace else name


def _namespace(root: Part) -> Namespace:
    metadata = root.part("metadata")
    name = metadata.text("name")
    return name, metadata.text_map("labels") | {NAMESPACE_NAME: name}


def _pod(root: Part) -> Pod:
    return pod_from(root.part("metadata"), root.part("spec"), root.part("status"))


def _node(root: Part) -> Node:
    metadata, spec, status = root.part("metadata"), root.part("spec"), root.part("status")
    capacity = status.amounts("capacity")
    conditions = [(c.text("type"), c) for c in status.parts("conditions")]
    readiness = [c for kind, c in conditions if kind == "Ready"]
    ready = [c for c in readiness if c.text("status") == "True"]
    return Node(
        name=metadata.text("name"),
        uid=metadata.text("uid") or metadata.text("name"),
        allocatable=status.amounts("allocatable") or capacity,
        capacity=capacity,
        labels=metadata.text_map("labels"),
        annotations=metadata.text_map("annotations"),
        taints=tuple(
            Taint(t.text("key"), t.text("value"), t.text("effect"), t.moment("timeAdded")) for t in spec.parts("taints")
        ),
        is_ready=bool(ready),
        is_cordoned=spec.flag("unschedulable"),
        is_terminating=metadata.has("deletionTimestamp"),
        provider_id=spec.text("providerID"),
        created_at=metadata.moment("creationTimestamp"),
        ready_since=ready[0].moment("lastTransitionTime") if ready else None,
        unready_since=readiness[0].moment("lastTransitionTime") if readiness and not ready else None,
        conditions=tuple(
            NodeCondition(kind, c.text("status"), c.text("lastTransitionTime"))
            for kind, c in conditions
            if kind != "Ready"
        ),
    )


def _daemon_set(root: Part) -> DaemonSet:
    metadata = root.part("metadata")
    generation = metadata.text_map("annotations").get("deprecated.daemonset.template.generation", "")
    template = root.part("spec").part("template")
    template_metadata = dict(template.part("metadata").value)
    # A template has no name of its own; its pods live in the namespace of the DaemonSet.
    template_metadata["name"] = metadata.text("name")
    template_metadata["namespace"] = metadata.text("namespace")
    return DaemonSet(
        namespace=metadata.text("namespace") or "default",
        name=metadata.text("name"),
        uid=metadata.text("uid") or metadata.text("name"),
        template=pod_from(
            Part(template_metadata, template.where("metadata")), template.part("spec"), Part({}, "status")
        ),
        generation=int(generation) if _GENERATION.fullmatch(generation) else 0,
    )


def pod_remains(pod: object) -> Pod | None:
    """Return the pod as far as its place goes; None where it has no name, or is on no node."""
    metadata, name, namespace = (
        _part(pod, "metadata"),
        text_in(pod, "metadata", "name"),
        text_in(pod, "metadata", "namespace"),
    )
    node = text_in(pod, "spec", "nodeName")
    if not name or not node:
        return None
    return Pod(
        namespace=namespace or "default",
        name=name,
        uid=text_in(pod, "metadata", "uid") or f"{namespace}/{name}",
        requests={},
        labels=_texts(metadata.get("labels")),
        node_name=node,
        phase=text_in(pod, "status", "phase") or "Running",
        is_terminating="deletionTimestamp" in metadata,
        is_unreadable=True,
        # A budget guards it then.
        is_ready=True,
        stays=stays(metadata, _part(pod, "spec"), _part(pod, "status")),
    )


def node_remains(node: object) -> Node | None:
    """Return the node as a cordoned one without room: it takes no pods, and stays; None where it has no name."""
    metadata, name = _part(node, "metadata"), text_in(node, "metadata", "name")
    if not name:
        return None
    return Node(
        name=name,
        uid=text_in(node, "metadata", "uid") or name,
        allocatable={},
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        is_cordoned=True,
        is_terminating="deletionTimestamp" in metadata,
        provider_id=text_in(node, "spec", "providerID"),
    )


def _part(item: object, name: str) -> Mapping[str, Any]:
    part = item.get(name) if isinstance(item, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def text_in(item: object, part: str, key: str) -> str:
    """Return a text in a part of an object that is broken somewhere, perhaps right here; empty if it is none."""
    values = item.get(part) if isinstance(item, Mapping) else None
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, str) else ""


def _texts(values: object) -> dict[str, str]:
    if not isinstance(values, Mapping):
        return {}
    return {key: value for key, value in values.items() if isinstance(key, str) and isinstance(value, str)}
