"""Blockers of a drain: the reason why a pod is not evicted, and DaemonSet pods that are, read from their JSON.

Read as plain JSON, so that a pod which the planner cannot read is kept or moved like every other.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from activities.ports.cluster import Object
from api.keys import ANNOTATION_DO_NOT_REMOVE, OTHERS_DAEMON_EVICTION, TAINT_SCALE_DOWN
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.removal_budget import EVICTING_REASONS
from planner.lifecycle.drain import OWN_GRACE, SYSTEM_CRITICAL_FROM, Occupant
from planner.lifecycle.json_predicates import is_terminating, key_of, tolerates
from planner.lifecycle.seen import Blocker
from planner.objects.eviction import wish
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
    ends_at = pod["metadata"].get("deletionTimestamp")
    seconds = pod["spec"].get("terminationGracePeriodSeconds")
    return Occupant(
        key=key_of(pod),
        is_critical=_is_critical(pod["spec"]),
        is_terminating=is_terminating(pod),
        grace=OWN_GRACE if seconds is None else timedelta(seconds=seconds),
        ends_at=None if ends_at is None else datetime.fromisoformat(ends_at),
        blocker=None if stay is None else Blocker(stay.reason),
        why="" if stay is None else stay.why,
    )


def leaves_last(pod: Object) -> bool:
    """Return whether a pod of a DaemonSet is asked to leave a drained node, after all others.

    One that tolerates the taint would be back at once. System-critical ones and those that work in the kubelet's own
    directory, as drivers of volumes do, are needed until the server goes: without them nothing is unmounted.
    Source: Karpenter, utils/pod, IsDrainable; Cluster Autoscaler, FAQ, "enable-ds-eviction";
    kubernetes-sigs/aws-ebs-csi-driver issue 1955.
    """
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    said = wish(annotations)
    is_kept = annotations.get(ANNOTATION_DO_NOT_REMOVE) or annotations.get(OTHERS_DAEMON_EVICTION) == "false"
    paths = ((volume.get("hostPath") or {}).get("path", "") for volume in spec.get("volumes") or ())
    return not (
        is_kept
        or (said is not None and not said[1])
        or _is_critical(spec)
        or tolerates(pod, TAINT_SCALE_DOWN, "")
        or any("kubelet" in path.split("/") for path in paths)
    )


def _is_critical(spec: dict[str, Any]) -> bool:
    return spec.get("priorityClassName") in _CRITICAL_CLASSES or (spec.get("priority") or 0) >= SYSTEM_CRITICAL_FROM
