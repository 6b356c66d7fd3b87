"""What a round has parsed, kept for the next one: of thousands of objects, a few change in between."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from activities.ports.cluster import Object, Resource
from planner.model.plan import Problem
from planner.objects.kinds import Node
from planner.objects.storage import CsiNode
from planner.parsing.volumes import with_drivers_of

T = TypeVar("T")


class ParsedCache(Generic[T]):
    """The objects of one resource as last parsed, so that a round over thousands of unchanged pods is quick.

    Args:
        resource: names the kind in problems.
        parse: reads one object; a ValueError says in one line which field cannot be read.
    """

    def __init__(self, resource: Resource, parse: Callable[[Object], T]) -> None:
        self._resource = resource
        self._parse = parse
        self._known: dict[str, tuple[str, T | None, Problem | None]] = {}

    def read(self, items: Sequence[Object]) -> tuple[tuple[T, ...], tuple[Problem, ...]]:
        """Return the readable ones and the problems, in the order of `items`; what is not among them is forgotten.

        What remains of an unreadable one is among the readable ones.
        """
        known: dict[str, tuple[str, T | None, Problem | None]] = {}
        for item in items:
            metadata = item["metadata"]
            uid, version = metadata["uid"], metadata["resourceVersion"]
            before = self._known.get(uid)
            known[uid] = before if before is not None and before[0] == version else (version, *self._parse_item(item))
        self._known = known
        parsed = tuple(one for _, one, _ in known.values() if one is not None)
        return parsed, tuple(problem for _, _, problem in known.values() if problem is not None)

    def _parse_item(self, item: Object) -> tuple[T | None, Problem | None]:
        try:
            return self._parse(item), None
        except ValueError as error:
            remains: T | None = getattr(error, "remains", None)
            return remains, problem_of(self._resource, item, error)


class JoinedNodes:
    """Nodes with what their CSINodes tell, as last joined: of thousands, a few change from round to round."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Node, CsiNode | None, Node]] = {}

    def read(self, nodes: Iterable[Node], csi_nodes: Iterable[CsiNode]) -> tuple[Node, ...]:
        """Return the nodes in their order, each the very object of the round before where nothing has changed."""
        of_name = {csi_node.name: csi_node for csi_node in csi_nodes}
        known: dict[str, tuple[Node, CsiNode | None, Node]] = {}
        for node in nodes:
            csi_node, before = of_name.get(node.name), self._known.get(node.name)
            if before is None or before[0] is not node or before[1] is not csi_node:
                before = node, csi_node, with_drivers_of(node, csi_node)
            known[node.name] = before
        self._known = known
        return tuple(joined for _, _, joined in known.values())


def problem_of(resource: Resource, item: Object, error: Exception) -> Problem:
    """Return the problem of an item that cannot be read, with its name and the field."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    # The problem names the object itself.
    message = str(error).removeprefix(f"{resource.kind} {name}: ")
    return Problem(kind=resource.kind, name=name, message=message, uid=metadata["uid"])
