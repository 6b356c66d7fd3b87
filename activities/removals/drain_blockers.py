"""Blockers of a drain: the reason why a pod is not evicted, read from its JSON.

Read as plain JSON, so that a pod which the planner cannot read is kept or moved like every other.
"""

from datetime import datetime
from typing import Any, Final

from activities.ports.cluster import Object
from api.keys import ANNOTATION_DO_NOT_REMOVE
from api.meta import shown_time
from planner.lifecycle.drain import STUCK_AFTER, SYSTEM_CRITICAL_FROM, Occupant
from planner.lifecycle.json_predicates import is_terminating, key_of
from planner.lifecycle.seen import Blocker
from planner.objects.eviction import spared_volumes, wish

_CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
_QUOTED_CHARACTERS: Final = 60
"""Of a person's words, and of the names of volumes: five pods fit into one message."""


def occupant(pod: Object, now: datetime) -> Occupant:
    """Return a pod on a drained node, with its blocker, as the step function takes it.

    Source: Cluster Autoscaler, simulator/drainability, rules Replicated and LocalStorage: a controller of any kind
    will do; hostPath volumes and emptyDir volumes that are not in memory are local storage. A pod that says that it may
    be evicted is, whatever it has; it says which of its volumes nobody misses, or a sidecar known for them has them.
    """
    blocker, why = _blocker(pod, now)
    return Occupant(
        key=key_of(pod),
        is_critical=_is_critical(pod["spec"]),
        is_terminating=is_terminating(pod),
        blocker=blocker,
        why=why,
    )


def _blocker(pod: Object, now: datetime) -> tuple[Blocker | None, str]:
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata:
        # The grace is in it already.
        end = datetime.fromisoformat(metadata["deletionTimestamp"])
        if now < end + STUCK_AFTER:
            return None, ""
        return Blocker.TERMINATING, f"should have ended at {shown_time(end)}"
    annotation = str((metadata.get("annotations") or {}).get(ANNOTATION_DO_NOT_REMOVE) or "")
    if annotation:
        return Blocker.ANNOTATION, f"is annotated {ANNOTATION_DO_NOT_REMOVE}: {_short(annotation)}"
    said = wish(metadata.get("annotations") or {})
    if said is not None and not said[1]:
        return Blocker.ANNOTATION, f"is annotated {said[0]}: {_short(str(metadata['annotations'][said[0]]))}"
    if said is not None:
        return None, ""
    if not any(owner.get("controller") for owner in metadata.get("ownerReferences") or ()):
        return Blocker.BARE_POD, "has no controller that would start it again"
    spared = spared_volumes(metadata.get("annotations") or {}, pod["spec"])
    volumes = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in spared]
    local = [storage for volume in volumes if (storage := _local(volume))]
    if local:
        return Blocker.LOCAL_STORAGE, f"has local storage: {_short(', '.join(local))}"
    return None, ""


def _local(volume: dict[str, Any]) -> str:
    """Return the local storage of the volume, such as `emptyDir cache`; empty if it has none."""
    if volume.get("hostPath") is not None:
        return f"hostPath {volume['name']}"
    empty = volume.get("emptyDir")
    return "" if empty is None or empty.get("medium") == "Memory" else f"emptyDir {volume['name']}"


def _is_critical(spec: dict[str, Any]) -> bool:
    return spec.get("priorityClassName") in _CRITICAL_CLASSES or (spec.get("priority") or 0) >= SYSTEM_CRITICAL_FROM


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[: _QUOTED_CHARACTERS - 3]}..."
