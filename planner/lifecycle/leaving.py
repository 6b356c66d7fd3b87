"""How a machine leaves whole: load balancers let it go, and its volumes detach, before its server is deleted.

Pure: part of the step function of a removal (`planner.lifecycle.removal`). Each wait is bounded: a balancer that nobody
runs and a volume that never detaches keep no server.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.drain import NAMED
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import RemovalObservation, VolumesSeen
from planner.lifecycle.step import Act, Step, Wait, shared, shortened

BALANCERS_LET_GO_AFTER: Final = timedelta(seconds=10)
"""A cloud's controller hears of the label at once, and makes a call for each balancer."""
LABEL_WITHIN: Final = timedelta(minutes=1)
"""From the beginning of a drain, and again from the point of no return: a label that is refused keeps no server."""
VOLUMES_DETACH_WITHIN: Final = timedelta(minutes=5)
"""From the point of no return on. A kubelet unmounts and a driver detaches within a minute; what Kubernetes detaches by
force, from a node that is not Ready, takes 6 min. Source: kube-controller-manager, attachdetach, maxWaitForUnmount."""
LOOK_AT_VOLUMES_EVERY: Final = timedelta(seconds=5)
"""Their end comes without a message."""
VOLUMES_DETACH: Final = "VolumesDetach"
"""Reason of a removal while it waits for volumes."""


def leave_balancers(seen: RemovalObservation, now: datetime) -> Act | None:
    """Return the step that takes the Node off load balancers, None if it is off, or could not be taken off in time."""
    node, status = seen.node, seen.status
    if node is None or node.foreign or status.excluded_at is not None or not (node.balanced or node.excluded):
        return None
    began = status.drain_started_at if status.detach_until is None else status.detach_until - VOLUMES_DETACH_WITHIN
    if began is None or now >= began + LABEL_WITHIN:
        return None
    return Act(
        effect=RemovalEffect.LEAVE_BALANCERS,
        reason="LeavesLoadBalancers",
        message="Label the node, so that load balancers leave it out before its server goes",
    )


def leaves_whole(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the next step before the first delete call, None when nothing is left to do or to wait for."""
    status = seen.status
    # Without an end of its wait it passed its point of no return under an earlier version: it goes on as it began.
    if seen.node is None or seen.node.foreign or status.removal_attempts or status.detach_until is None:
        return None
    step = leave_balancers(seen, now)
    if step is not None:
        return step
    volumes = _volumes_detach(seen, now)
    if volumes is not None:
        return volumes
    let_go_at = _let_go_at(seen)
    if let_go_at is None or now >= let_go_at:
        return None
    return Wait(
        reason="LoadBalancersLetGo",
        message="Load balancers were told to leave the node out; at the deadline its server is deleted",
        until=let_go_at,
    )


def see_volumes(names: Sequence[str], status: NodeRemovalRequestStatus) -> VolumesSeen:
    """Return the volumes that the removal waits for, and whether it says so already."""
    rest = len(names) - NAMED
    seen = VolumesSeen(count=len(names), names=(*names[:NAMED], *([f"{rest} more"] if rest > 0 else ())))
    is_told = (status.reason, status.message) == (VOLUMES_DETACH, _awaited(seen, status.detach_until))
    return seen.model_copy(update={"is_told": is_told})


def _volumes_detach(seen: RemovalObservation, now: datetime) -> Step | None:
    volumes, until = seen.volumes, seen.status.detach_until
    if not volumes.count or until is None or now >= until:
        return None
    message = _awaited(volumes, until)
    if not volumes.is_told:
        return Act(effect=RemovalEffect.TELL_VOLUMES, reason=VOLUMES_DETACH, message=message)
    return Wait(
        reason=VOLUMES_DETACH, message=message, until=until, look_every=shared(LOOK_AT_VOLUMES_EVERY, seen.others)
    )


def _awaited(volumes: VolumesSeen, until: datetime | None) -> str:
    at = "" if until is None else f" until {until:%Y-%m-%d %H:%M:%S} UTC"
    return shortened(f"Waits for {volumes.count} volumes to detach{at}: {', '.join(volumes.names)}")


def _let_go_at(seen: RemovalObservation) -> datetime | None:
    """Return when load balancers have had their time, None if they were not told yet."""
    told_at = seen.status.excluded_at
    return None if told_at is None else told_at + BALANCERS_LET_GO_AFTER
