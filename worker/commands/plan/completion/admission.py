"""What the API server fills into a new pod from RuntimeClass, PriorityClass and LimitRange, for pods from a file.

Source: Kubernetes docs, "Runtime Class: Scheduling" and "Pod overhead", "Pod Priority and Preemption", "Limit Ranges";
the admission plugins RuntimeClass, Priority and LimitRanger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from planner.model.plan import Problem
from planner.parsing.json_part import FieldError, Part
from planner.parsing.limit_ranges import LimitRanges, limit_range_from
from worker.commands.plan.objects import NAMESPACED, Json, Objects, key
from worker.commands.shared.tables import names

_OF_EVERY_CLUSTER: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that nobody has to make."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Runtime:
    overhead: Json
    node_selector: dict[str, str]
    tolerations: list[Json]


class Admission:
    """The RuntimeClasses, PriorityClasses and LimitRanges of some files.

    Attributes:
        problems: those that cannot be read; they count as unknown.
        limit_ranges: those that can be read.
    """

    def __init__(self, objects: Objects) -> None:
        self.problems: list[Problem] = []
        self._runtimes = self._read(objects, "RuntimeClass", _runtime)
        priorities = self._read(objects, "PriorityClass", _priority)
        self._priorities = _OF_EVERY_CLUSTER | {name: value for name, (value, _) in priorities.items()}
        self._usual = min((value for value, is_usual in priorities.values() if is_usual), default=0)
        self.limit_ranges = tuple(self._read(objects, "LimitRange", limit_range_from).values())
        self._limits = LimitRanges(self.limit_ranges)
        self._doubts: dict[str, list[str]] = {}

    def with_limits(self, spec: Json, owner: str) -> Json:
        """Return the spec of a pod with the amounts that the LimitRanges of its namespace give it; `owner` is its name.

        A pod that they refuse is planned all the same, and named.
        """
        namespace = owner.partition("/")[0]
        try:
            complete = self._limits.completed(namespace, spec)
            refusal = self._limits.refusal(namespace, complete)
        except FieldError:
            # Who parses it tells what is wrong.
            return spec
        if refusal:
            self._doubt(f"{refusal}, and an API server would refuse", owner)
        return dict(complete)

    def with_runtime(self, spec: Json, owner: str) -> Json:
        """Return the spec of a pod with what its RuntimeClass adds; `owner` is named where that is not known."""
        name = spec.get("runtimeClassName")
        if not isinstance(name, str) or not name:
            return spec
        runtime = self._runtimes.get(name)
        if runtime is None:
            if not spec.get("overhead"):
                self._doubt(f"RuntimeClass {name} is not known: what it adds to pods is left out for", owner)
            return spec
        own, tolerations = spec.get("nodeSelector") or {}, spec.get("tolerations") or []
        if not isinstance(own, dict) or not isinstance(tolerations, list):
            # Who parses it tells what is wrong.
            return spec
        if any(own.get(key, value) != value for key, value in runtime.node_selector.items()):
            self._doubt(f"RuntimeClass {name} contradicts the nodeSelector, and an API server would refuse", owner)
        return {
            **spec,
            "overhead": spec.get("overhead") or runtime.overhead,
            "nodeSelector": runtime.node_selector | own,
            "tolerations": [*tolerations, *(t for t in runtime.tolerations if t not in tolerations)],
        }

    def with_priority(self, spec: Json, owner: str) -> Json:
        """Return the spec of a pod with its priority; `owner` is named where that is not known."""
        name = spec.get("priorityClassName") or ""
        if spec.get("priority") is not None or not isinstance(name, str):
            return spec
        if name and name not in self._priorities:
            self._doubt(f"PriorityClass {name} is not known: a priority of 0 is taken for", owner)
            return spec
        return {**spec, "priority": self._priorities[name] if name else self._usual}

    def notes(self) -> list[str]:
        """Return the names that were not known, a line for each."""
        return [f"{doubt} {names(whose)}" for doubt, whose in self._doubts.items()]

    def _doubt(self, doubt: str, owner: str) -> None:
        self._doubts.setdefault(doubt, []).append(owner)

    def _read(self, objects: Objects, kind: str, read: Callable[[Part], T]) -> dict[str, T]:
        values: dict[str, T] = {}
        for item in objects.of(kind):
            name = key(item) if kind in NAMESPACED else item["metadata"]["name"]
            try:
                values[name] = read(Part(item))
            except FieldError as error:
                self.problems.append(Problem(kind=kind, name=name, message=str(error)))
        return values


def _runtime(root: Part) -> _Runtime:
    overhead, scheduling = root.part("overhead"), root.part("scheduling")
    overhead.amounts("podFixed")
    return _Runtime(
        overhead=dict(overhead.part("podFixed").value),
        node_selector=scheduling.text_map("nodeSelector"),
        tolerations=[dict(part.value) for part in scheduling.parts("tolerations")],
    )


def _priority(root: Part) -> tuple[int, bool]:
    """Return the value, and whether pods that name no class have it."""
    return root.number("value"), root.flag("globalDefault")
