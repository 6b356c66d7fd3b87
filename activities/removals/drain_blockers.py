"""Blockers of a drain: the reason why a pod is not evicted, read from its JSON.

Read as plain JSON, so that a pod which the planner cannot read is kept or moved like every other.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from activities.ports.cluster import Object
from api.v1alpha1.node_pool import NodePool
from planner.lifecycle.drain import EVICTING_REASONS, SYSTEM_CRITICAL_FROM, Occupant
from planner.lifecycle.json_predicates import is_terminating, key_of
from planner.lifecycle.seen import Blocker
from planner.objects.stays import stay_at, stays

_CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})


def keeps_empty_dirs(pool: NodePool | None, reason: str | None) -> bool:
    """Return whether an emptyDir keeps its pod in a removal for this reason: where nothing is said, only a person's."""
    said = None if pool is None else pool.spec.scale_down.empty_dir
    return said == "keep" if said is not None else reason not in EVICTING_REASONS


def occupants_of(pods: Iterable[Object], now: datetime, *, keeps_empty_dirs: bool) -> list[Occupant]:
    """Return the pods on a drained node, each with its blocker, as the step function takes them."""
    return [occupant(pod, now, keeps_empty_dirs=keeps_empty_dirs) for pod in pods]


def occupant(pod: Object, now: datetime, *, keeps_empty_dirs: bool) -> Occupant:
    """Return a pod on a drained node, with its blocker: the one that a round sees that would have it drained."""
    stay = stay_at(stays(pod["metadata"], pod["spec"], pod.get("status") or {}), now, keeps_empty_dirs=keeps_empty_dirs)
    return Occupant(
        key=key_of(pod),
        is_critical=_is_critical(pod["spec"]),
        is_terminating=is_terminating(pod),
        blocker=None if stay is None else Blocker(stay.reason),
        why="" if stay is None else stay.why,
    )


def _is_critical(spec: dict[str, Any]) -> bool:
    return spec.get("priorityClassName") in _CRITICAL_CLASSES or (spec.get("priority") or 0) >= SYSTEM_CRITICAL_FROM
