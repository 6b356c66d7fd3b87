"""API JSON to pods, nodes and DaemonSets: exact integers, and one clear line for what cannot be read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from planner.json_part import FieldError, Part
from planner.model import Problem
from planner.objects import DaemonSet, Node, Pod, Taint
from planner.parse_pod import pod_from

T = TypeVar("T")
Json = Mapping[str, Any]
"""An object of the API."""


class UnreadableObject(ValueError):
    """An object that cannot be read; the text names kind, object and field in one line."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.kind} {problem.name}: {problem.message}")
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read, and what could not."""

    pods: tuple[Pod, ...] = ()
    nodes: tuple[Node, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    problems: tuple[Problem, ...] = ()


def parse_pod(pod: Json) -> Pod:
    """Return the pod.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("Pod", pod, lambda root: pod_from(root.part("metadata"), root.part("spec"), root.part("status")))


def parse_node(node: Json) -> Node:
    """Return the node.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("Node", node, _node)


def parse_daemon_set(daemon_set: Json) -> DaemonSet:
    """Return the DaemonSet.

    Raises:
        UnreadableObject: a field cannot be read.
    """
    return _named("DaemonSet", daemon_set, _daemon_set)


def parse_objects(*, pods: Iterable[Json] = (), nodes: Iterable[Json] = (), daemon_sets: Iterable[Json] = ()) -> Parsed:
    """Return what can be read of all objects, and a problem for each that cannot: it stops no other."""
    problems: list[Problem] = []

    def readable(parse: Callable[[Json], T], objects: Iterable[Json]) -> tuple[T, ...]:
        found: list[T] = []
        for item in objects:
            try:
                found.append(parse(item))
            except UnreadableObject as error:
                problems.append(error.problem)
        return tuple(found)

    return Parsed(
        pods=readable(parse_pod, pods),
        nodes=readable(parse_node, nodes),
        daemon_sets=readable(parse_daemon_set, daemon_sets),
        problems=tuple(problems),
    )


def _named(kind: str, item: Json, read: Callable[[Part], T]) -> T:
    try:
        root = Part(item)
        root.part("metadata").name("name")
        return read(root)
    except FieldError as error:
        raise UnreadableObject(
            Problem(kind=kind, name=_name(item), message=str(error), uid=_metadata_text(item, "uid"))
        ) from None


def _name(item: Json) -> str:
    name = _metadata_text(item, "name") or "without a name"
    namespace = _metadata_text(item, "namespace")
    return f"{namespace}/{name}" if namespace else name


def _metadata_text(item: Json, key: str) -> str:
    # This names an object that is broken somewhere, perhaps right here.
    metadata = item.get("metadata")
    value = metadata.get(key) if isinstance(metadata, Mapping) else None
    return value if isinstance(value, str) else ""


def _node(root: Part) -> Node:
    metadata, spec, status = root.part("metadata"), root.part("spec"), root.part("status")
    amounts = status.amounts("allocatable") or status.amounts("capacity")
    return Node(
        name=metadata.text("name"),
        uid=metadata.text("uid") or metadata.text("name"),
        allocatable=amounts,
        labels=metadata.text_map("labels"),
        annotations=metadata.text_map("annotations"),
        taints=tuple(Taint(t.text("key"), t.text("value"), t.text("effect")) for t in spec.parts("taints")),
        is_ready=any(c.text("type") == "Ready" and c.text("status") == "True" for c in status.parts("conditions")),
        is_cordoned=spec.flag("unschedulable"),
        is_terminating=metadata.has("deletionTimestamp"),
        provider_id=spec.text("providerID"),
        created_at=metadata.moment("creationTimestamp"),
    )


def _daemon_set(root: Part) -> DaemonSet:
    metadata = root.part("metadata")
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
    )
