"""Wakes: the changes of objects that ask the planner for a round, and those that wake a lifecycle.

Only transitions are reported. A message that is lost costs time and nothing else: everybody also looks on a timer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from api.keys import ANNOTATION_DECISION, GROUP, TAINT_REMOVE_NOW, TAINT_UNINITIALIZED
from planner.lifecycle.json_predicates import (
    conditions,
    generation,
    is_claim_bound,
    is_finished,
    is_ready,
    is_terminating,
    is_unschedulable,
    keep_reason,
    node_of,
    nominated_node,
)
from planner.lifecycle.kinds import REMOVAL, REQUEST
from planner.lifecycle.known_objects import KnownObjects, Object, ObjectChange, Subject, is_binding

QUICK_SECONDS: Final = 0.2
"""A burst of changes is over when nothing more comes for this long."""
CALM_SECONDS: Final = 1.0
"""The same for pods that end: in a busy cluster some always do, and no pod waits for it."""
ORPHAN_SECONDS: Final = 2.0
"""A request or removal that has no workflow after this was not made by a round that just starts one."""

_NOTHING: Final = frozenset({"0", "", 0, None})
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_NOT_OFFERED: Final = frozenset({"unavailable", "pause", "partialPauses", "readAt", "conditions"})
"""Parts of a class's status that no offering is made of. Those on misses are written by whoever plans on then."""


class Pace(StrEnum):
    """How soon the planner hears of a change."""

    QUICK = "quick"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class Nudge:
    """Asks the planner for a round."""

    reason: str
    pace: Pace = Pace.QUICK


@dataclass(frozen=True, slots=True)
class Wake:
    """Lets a lifecycle look at once."""

    subject: Subject
    reason: str


Message = Nudge | Wake


def messages(change: ObjectChange, known: KnownObjects) -> list[Message]:
    """Return the messages that a change asks for, in their order, given what was known before it."""
    if change.kind == "Pod":
        return [*_of_pod(change.before, change.after), *_of_pod_on_node(change.before, change.after, known)]
    if change.kind == "Node":
        return list(_of_node(change, known))
    if change.kind == "PersistentVolumeClaim":
        return list(_of_claim(change.before, change.after))
    if change.kind in ("NodePool", "CapacityBuffer"):
        return [Nudge(f"{change.kind} edited")] if _is_edited(change) else []
    if change.kind in known.class_kinds:
        return list(_of_class(change))
    if change.kind not in known.lifecycles:
        return []
    return [*_of_lifecycle(change), *_of_replacement(change, known)]


def orphan_nudge(subject: Subject, known: KnownObjects) -> Nudge | None:
    """Return the nudge due `ORPHAN_SECONDS` after an object was seen without a workflow; None if it has one by then."""
    # A person made it, or a round was cut off: the next round returns it and its workflow is started.
    return Nudge(f"{subject.name} has no workflow") if subject in known.orphans else None


def _of_pod(before: Object | None, after: Object | None) -> Iterator[Message]:
    if before is not None and _ends(before, after):
        yield Nudge("pod ended", Pace.CALM)
    if after is None or not is_unschedulable(after):
        return
    if before is None or not is_unschedulable(before):
        yield Nudge("pod unschedulable")
    elif nominated_node(before) and not nominated_node(after):
        yield Nudge("nomination ended")


def _of_pod_on_node(before: Object | None, after: Object | None, known: KnownObjects) -> Iterator[Message]:
    if before is not None:
        removal = known.subjects.get((REMOVAL.name, node_of(before)))
        is_freed = after is not None and keep_reason(before) != keep_reason(after)
        if removal is not None and (_ends(before, after) or is_freed):
            yield Wake(removal, "pod ended, kept or freed")
    if after is not None and is_binding(before, after):
        node = node_of(after)
        request = known.subjects.get((REQUEST.name, node))
        # A machine of twenty pods that are bound one after the other would else look twenty times, to wait again.
        if request is not None and known.awaited_by(node).end_with(after["metadata"]["uid"]):
            yield Wake(request, "planned pods bound")


def _of_node(change: ObjectChange, known: KnownObjects) -> Iterator[Message]:
    before, after = change.before, change.after
    is_changed = before is not None and after is not None and _role(before) != _role(after)
    reason = "node gone" if after is None else "node changed"
    subjects = known.of_node(change.name)
    # One that Growth has not asked for may be the first real Node beside simulated ones, Ready or not. Each of its own
    # is awaited by its lifecycle, and asks for a round once it is Ready.
    is_stranger = not subjects and after is not None and _origin(after) != ("" if before is None else _origin(before))
    if after is None or is_changed or is_stranger:
        yield Nudge(reason)
    if after is None or before is None or is_changed or _lets_in(before) != _lets_in(after):
        yield from (Wake(subject, reason) for subject in subjects)


def _of_claim(before: Object | None, after: Object | None) -> Iterator[Message]:
    # Its pod says nothing new by that: it was unschedulable before.
    if before is not None and not is_claim_bound(before) and after is not None and is_claim_bound(after):
        yield Nudge("claim bound")


def _of_class(change: ObjectChange) -> Iterator[Message]:
    if _is_edited(change):
        yield Nudge(f"{change.kind} edited")
    elif change.before is not None and _offer(change.before) != _offer(change.item):
        yield Nudge(f"{change.kind} offers something else")


def _of_lifecycle(change: ObjectChange) -> Iterator[Message]:
    before, after = change.before, change.after
    if after is None:
        return
    subject = Subject(change.kind, change.name, after["metadata"]["uid"])
    if before is None:
        # A worker that was away may have missed what these are about.
        if is_terminating(after) or _is_cancelled(after) or _is_decided(after):
            yield Wake(subject, "object going, cancelled or decided on")
    elif _wish(before) != _wish(after):
        yield Wake(subject, "object changed")


def _of_replacement(change: ObjectChange, known: KnownObjects) -> Iterator[Message]:
    """Yield the wakes of removals whose replacement has come, or does not, and of requests whose removal is over."""
    if change.kind == REQUEST.name and (change.before is None or _phase(change.before) != _phase(change.after)):
        for removal in sorted(known.replaced.get(change.name, ()), key=lambda subject: subject.name):
            yield Wake(removal, "what replaces it has changed")
    is_over = change.after is None or (_is_cancelled(change.item) and not _is_cancelled(change.before or change.item))
    if change.kind == REMOVAL.name and is_over:
        for name in (change.item.get("spec") or {}).get("replacedBy") or ():
            request = known.subjects.get((REQUEST.name, name))
            if request is not None:
                yield Wake(request, "the removal that it is kept for is over")


def _phase(item: Object | None) -> str | None:
    return None if item is None else item.get("status", {}).get("phase", "")


def _is_edited(change: ObjectChange) -> bool:
    before, after = change.before, change.after
    return after is None or before is None or generation(before) != generation(after)


def _ends(before: Object, after: Object | None) -> bool:
    """Return whether the pod gives its room back by the change."""
    return not is_finished(before) and (after is None or is_finished(after))


def _role(node: Object) -> tuple[bool, bool, bool, str, str | None]:
    """Return the properties of a Node that others depend on: usable, cordoned, terminating, why it stays or goes."""
    spec = node.get("spec", {})
    ready = is_ready(node)
    # A cloud-controller-manager takes this taint off some time after the Node is Ready.
    waits = any(taint.get("key") == TAINT_UNINITIALIZED for taint in spec.get("taints") or ())
    remove_now = next(
        (taint.get("value", "") for taint in spec.get("taints") or () if taint.get("key") == TAINT_REMOVE_NOW), None
    )
    return ready and not waits, bool(spec.get("unschedulable")), is_terminating(node), keep_reason(node), remove_now


def _origin(node: Object) -> str:
    """Return what tells whether the Node is real: its provider id, else its kubelet; empty for neither."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return (node.get("spec") or {}).get("providerID") or info.get("kubeletVersion") or ""


def _lets_in(node: Object) -> tuple[frozenset[str], frozenset[str]]:
    """Return what a request waits for on its Ready Node: the keys of taints, and the resources of which it has any."""
    if not is_ready(node):
        return frozenset(), frozenset()
    keys = (taint.get("key", "") for taint in node.get("spec", {}).get("taints") or ())
    taints = frozenset(key for key in keys if not key.startswith(f"{GROUP}/"))
    amounts = node.get("status", {}).get("allocatable") or {}
    return taints, frozenset(name for name, amount in amounts.items() if amount not in _NOTHING)


def _wish(item: Object) -> tuple[bool, bool, int, dict[str, str]]:
    """Return the parts of a lifecycle's object that others change; the rest of its status is the lifecycle's own."""
    return is_terminating(item), _is_cancelled(item), generation(item), item["metadata"].get("annotations") or {}


def _offer(node_class: Object) -> tuple[Any, ...]:
    """Return the parts of a class that its offerings are made of, beside its spec; the time of reading is not one."""
    status = node_class.get("status", {})
    ready = [
        (one.get("status"), one.get("reason"), one.get("observedGeneration"))
        for one in conditions(node_class)
        if one.get("type") == "Ready"
    ]
    return ready, {part: value for part, value in status.items() if part not in _NOT_OFFERED}


def _is_cancelled(item: Object) -> bool:
    return bool(item.get("status", {}).get("cancel"))


def _is_decided(item: Object) -> bool:
    return ANNOTATION_DECISION in (item["metadata"].get("annotations") or {})
