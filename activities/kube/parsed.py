"""Objects parsed once per version, so that a round over thousands of unchanged pods is quick."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from activities.ports.cluster import Object, Resource
from planner.model.plan import Problem

T = TypeVar("T")


class ParsedCache(Generic[T]):
    """The objects of one resource as they were last parsed.

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
            uid, version = _uid(item), item["metadata"]["resourceVersion"]
            before = self._known.get(uid)
            known[uid] = before if before is not None and before[0] == version else (version, *self._one(item))
        self._known = known
        parsed = tuple(one for _, one, _ in known.values() if one is not None)
        return parsed, tuple(problem for _, _, problem in known.values() if problem is not None)

    def _one(self, item: Object) -> tuple[T | None, Problem | None]:
        try:
            return self._parse(item), None
        except ValueError as error:
            remains: T | None = getattr(error, "remains", None)
            return remains, problem_of(self._resource, item, error)


def problem_of(resource: Resource, item: Object, error: Exception) -> Problem:
    """Return that `item` cannot be read."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    # The problem names the object itself.
    message = str(error).removeprefix(f"{resource.kind} {name}: ")
    return Problem(kind=resource.kind, name=name, message=message, uid=metadata["uid"])


def _uid(item: Object) -> str:
    return str(item["metadata"]["uid"])
