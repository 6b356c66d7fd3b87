"""What keeps a pod on its machine: the one judge for plans, which look ahead, and for drains, which act.

Read as plain JSON, so that a pod which the planner cannot read is kept or moved like every other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from api.keys import ANNOTATION_DO_NOT_REMOVE, ANNOTATION_SAFE_TO_EVICT, OTHERS_DO_NOT_DISRUPT
from api.meta import format_timestamp, read_moment, shown_time
from planner.objects.eviction import protection, spared_volumes, wish

Json = Mapping[str, Any]
STUCK_AFTER: Final = timedelta(seconds=30)
"""Past the end of its grace, a pod that terminates is no longer on its way. Source: Cluster Autoscaler,
simulator/drainability, rule LongTerminating."""
_QUOTED_CHARACTERS: Final = 60
"""Of a person's words, and of the names of volumes: five pods fit into one message."""


class StayReason(StrEnum):
    """What keeps a pod where it is."""

    ANNOTATION = "BlockedByAnnotation"
    BARE_POD = "BlockedByBarePod"
    LOCAL_STORAGE = "BlockedByLocalStorage"
    TERMINATING = "BlockedByTerminating"


@dataclass(frozen=True, slots=True)
class Stay:
    """Something that keeps a pod on its machine."""

    reason: StayReason
    why: str
    """The rest of a sentence that begins with the pod."""
    until: datetime | None = None
    """When it is over by itself; None where nobody knows."""
    since: datetime | None = None
    """From when on it holds; None is now."""
    has_empty_dirs: bool = False
    """It holds only where an emptyDir keeps its pod."""


_BARE: Final = (Stay(StayReason.BARE_POD, "has no controller that would start it again"),)


def stays(metadata: Json, spec: Json, status: Json) -> tuple[Stay, ...]:
    """Return all that keeps the pod, in the order in which it is told: what holds now is `stay_at`.

    Source: Cluster Autoscaler, simulator/drainability, rules Replicated and LocalStorage: a controller of any kind
    will do; hostPath volumes and emptyDir volumes that are not in memory are local storage. A pod that says that it may
    be evicted is, whatever it has; it says which of its volumes nobody misses, or a sidecar known for them has them.
    """
    if metadata.get("deletionTimestamp"):
        return _terminating(metadata)
    annotations = metadata.get("annotations")
    annotations = annotations if isinstance(annotations, Mapping) else {}
    wanted_here = str(annotations.get(ANNOTATION_DO_NOT_REMOVE) or "")
    if wanted_here:
        return (_annotated(ANNOTATION_DO_NOT_REMOVE, wanted_here),)
    said = wish(annotations)
    if said is not None and (not said[1] or said[0] == ANNOTATION_SAFE_TO_EVICT):
        return () if said[1] else (_annotated(said[0], str(annotations[said[0]])),)
    protected = _protected(annotations, status)
    if said is not None:
        return protected
    owners = metadata.get("ownerReferences")
    owners = owners if isinstance(owners, list) else []
    if not any(isinstance(owner, Mapping) and owner.get("controller") for owner in owners):
        return (*protected, *_BARE)
    return (*protected, *_local_storage(annotations, spec))


def stay_at(all_stays: Sequence[Stay], now: datetime, *, keeps_empty_dirs: bool) -> Stay | None:
    """Return what keeps a pod now; None if it may be evicted, or is on its way already."""
    for stay in all_stays:
        is_past = stay.until is not None and stay.until <= now
        is_to_come = stay.since is not None and now < stay.since
        if not is_past and not is_to_come and (keeps_empty_dirs or not stay.has_empty_dirs):
            return stay
    return None


def _terminating(metadata: Json) -> tuple[Stay, ...]:
    # The grace is in it already.
    end = read_moment(str(metadata["deletionTimestamp"]))
    if end is None:
        return ()
    return (Stay(StayReason.TERMINATING, f"should have ended at {shown_time(end)}", since=end + STUCK_AFTER),)


def _annotated(key: str, value: str) -> Stay:
    return Stay(StayReason.ANNOTATION, f"is annotated {key}: {_short(value)}")


def _protected(annotations: Json, status: Json) -> tuple[Stay, ...]:
    for_so_long = protection(annotations)
    if not for_so_long:
        return ()
    said = _annotated(OTHERS_DO_NOT_DISRUPT, str(annotations[OTHERS_DO_NOT_DISRUPT]))
    if for_so_long == timedelta.max:
        return (said,)
    started_at = read_moment(str(status.get("startTime") or ""))
    if started_at is None:
        return (Stay(said.reason, f"{said.why}, from its start, which is to come"),)
    try:
        until = started_at.astimezone(UTC) + for_so_long
    except OverflowError:
        return (said,)
    return (Stay(said.reason, f"{said.why}, until {format_timestamp(until)}", until=until),)


def _local_storage(annotations: Json, spec: Json) -> tuple[Stay, ...]:
    volumes = spec.get("volumes")
    if not isinstance(volumes, list):
        return ()
    spared: frozenset[str] | None = None
    on_host: list[str] = []
    everything: list[str] = []
    for volume in volumes:
        local = _local(volume) if isinstance(volume, Mapping) else ""
        if not local:
            continue
        # Most pods have nothing that needs to be spared.
        spared = spared_volumes(annotations, spec) if spared is None else spared
        if volume.get("name") in spared:
            continue
        everything.append(local)
        if volume.get("hostPath") is not None:
            on_host.append(local)
    by_all = (Stay(StayReason.LOCAL_STORAGE, _has(everything), has_empty_dirs=True),) if everything != on_host else ()
    return (*by_all, Stay(StayReason.LOCAL_STORAGE, _has(on_host))) if on_host else by_all


def _local(volume: Json) -> str:
    """Return the local storage of the volume, such as `emptyDir cache`; empty if it has none."""
    if volume.get("hostPath") is not None:
        return f"hostPath {volume.get('name')}"
    empty = volume.get("emptyDir")
    if empty is None or (isinstance(empty, Mapping) and empty.get("medium") == "Memory"):
        return ""
    return f"emptyDir {volume.get('name')}"


def _has(volumes: Sequence[str]) -> str:
    return f"has local storage: {_short(', '.join(volumes))}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[: _QUOTED_CHARACTERS - 3]}..."
