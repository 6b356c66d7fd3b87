"""A watcher's memory of changes: the objects that have a workflow, and the planned pods that each still awaits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from planner.lifecycle.json_predicates import node_of
from planner.lifecycle.kinds import KINDS, REMOVAL, REQUEST, LifecycleKind

Object = dict[str, Any]
"""An API object as JSON."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One change of an object, as a watch reports it."""

    kind: str
    """As the API has it, such as Pod."""
    item: Object
    """The object as it is now, or as it was last."""
    before: Object | None = None
    """The object before the change; None if it was not known."""
    is_gone: bool = False

    @property
    def after(self) -> Object | None:
        """The object as it is now; None if it is gone."""
        return None if self.is_gone else self.item

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.item["metadata"]["name"]


@dataclass(frozen=True, slots=True)
class Subject:
    """An object that has a workflow."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The planned pods of a reserved machine, and those seen to be bound to it.

    Pods that were bound before the first look are still awaited here; the lifecycle counts them by its timer.
    """

    planned: frozenset[str] = frozenset()
    """Uids."""
    arrived: frozenset[str] = frozenset()

    def with_pod(self, uid: str) -> "Arrivals":
        """Return the arrivals after the pod of that uid was bound to the machine."""
        return replace(self, arrived=self.arrived | {uid}) if uid in self.planned else self

    def end_with(self, uid: str) -> bool:
        """Return whether the machine awaits no other pod once the pod of that uid is bound to it."""
        return uid in self.planned and self.planned <= self.arrived | {uid}


@dataclass(frozen=True, slots=True)
class KnownObjects:
    """The objects that have a workflow, as far as changes have shown them."""

    class_kinds: frozenset[str]
    """Kinds of node classes, such as KwokNodeClass."""
    lifecycles: Mapping[str, LifecycleKind[Any]] = field(default_factory=lambda: {kind.name: kind for kind in KINDS})
    """Kinds whose objects have a workflow each, and bear the name of their Node, if they have one."""
    subjects: Mapping[tuple[str, str], Subject] = field(default_factory=dict)
    """By kind and name."""
    arrivals: Mapping[str, Arrivals] = field(default_factory=dict)
    """By name of the request, while its machine is kept for planned pods."""
    replaced: Mapping[str, frozenset[Subject]] = field(default_factory=dict)
    """Removals by the name of each request whose machine is to take their place."""
    orphans: frozenset[Subject] = frozenset()
    """Those whose object needs a workflow and names none."""

    def of_node(self, name: str) -> list[Subject]:
        """Return the subjects that bear the name of the Node."""
        return [self.subjects[kind, name] for kind in self.lifecycles if (kind, name) in self.subjects]

    def awaited_by(self, node: str) -> Arrivals:
        """Return the arrivals on the machine of that name; empty ones if it is kept for nobody."""
        return self.arrivals.get(node, Arrivals())

    def after(self, change: ObjectChange) -> "KnownObjects":
        """Return the known objects after the change."""
        if change.kind == "Pod":
            return self._with_pod(change)
        return self._with_subject(change) if change.kind in self.lifecycles else self

    def _with_pod(self, change: ObjectChange) -> "KnownObjects":
        pod = change.after
        if pod is None or not is_binding(change.before, pod) or node_of(pod) not in self.arrivals:
            return self
        node = node_of(pod)
        arrivals = self.arrivals[node].with_pod(pod["metadata"]["uid"])
        return replace(self, arrivals=_with(self.arrivals, node, arrivals))

    def _with_subject(self, change: ObjectChange) -> "KnownObjects":
        item, name = change.after, change.name
        subject = Subject(change.kind, name, change.item["metadata"]["uid"])
        needs_one = item is not None and self.lifecycles[change.kind].needs_workflow(item)
        is_orphan = needs_one and not change.item.get("status", {}).get("workflowId")
        return replace(
            self,
            subjects=_with(self.subjects, (change.kind, name), None if item is None else subject),
            arrivals=self._with_seats(name, item) if change.kind == REQUEST.name else self.arrivals,
            replaced=self._with_replaced(subject, change) if change.kind == REMOVAL.name else self.replaced,
            orphans=self.orphans | {subject} if is_orphan else self.orphans - {subject},
        )

    def _with_replaced(self, removal: Subject, change: ObjectChange) -> Mapping[str, frozenset[Subject]]:
        replaced = self.replaced
        # What a removal names never changes.
        for name in (change.item.get("spec") or {}).get("replacedBy") or ():
            before = replaced.get(name, frozenset())
            after = before - {removal} if change.is_gone else before | {removal}
            replaced = _with(replaced, name, after or None)
        return replaced

    def _with_seats(self, name: str, request: Object | None) -> Mapping[str, Arrivals]:
        """Return the arrivals with those of a request: none once it is gone or its reservation has ended."""
        if request is None or "releasedAt" in (request.get("status") or {}):
            return _with(self.arrivals, name, None)
        seats = (request.get("spec") or {}).get("reservedFor") or ()
        planned = frozenset(seat["uid"] for seat in seats)
        return _with(self.arrivals, name, replace(self.awaited_by(name), planned=planned))


def _with(known: Mapping[Key, Value], key: Key, value: Value | None) -> Mapping[Key, Value]:
    """Return the mapping with the value at the key, or without the key: itself if that changes nothing, as mostly."""
    if known.get(key) == value:
        return known
    changed = {**known}
    if value is None:
        del changed[key]
    else:
        changed[key] = value
    return changed


def is_binding(before: Object | None, after: Object) -> bool:
    """Return whether the pod was bound by the change."""
    return bool(node_of(after)) and not (before is not None and node_of(before))
