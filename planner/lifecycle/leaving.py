"""How a machine leaves whole: no data goes with it, load balancers let it go, and its volumes detach.

Pure: part of the step function of a removal (`planner.lifecycle.removal`). A balancer that nobody runs and a volume
that never detaches keep no server, as these waits are bounded. Data that is on the machine alone keeps it until nobody
has a claim to it, or a person lets it go.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration
from api.keys import ANNOTATION_DELETE_LOCAL_DATA
from api.meta import shown_time
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.drain import LOOK_AT_BLOCKED_EVERY, NAMED
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import LocalDataSeen, RemovalObservation, VolumesSeen
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
HAS_LOCAL_DATA: Final = "HasLocalData"
"""Reason of a removal that data keeps from going on, or has ended."""


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
        message="Load balancers were asked to leave the node out, and need a moment for it",
        until=let_go_at,
        # No longer, should a clock that was set right since have written when they were told.
        look_every=BALANCERS_LET_GO_AFTER,
    )


def data_stays(seen: RemovalObservation) -> Step | None:
    """Return the step that keeps the machine with the data on it, None if none is there or a person lets it go."""
    data = seen.local_data
    if not data.count:
        return None
    if data.ends_removal:
        message = shortened(f"Data is on it that would go with it: {', '.join(data.names)}")
        return Act(effect=RemovalEffect.CANCEL, reason=HAS_LOCAL_DATA, message=message, by=HAS_LOCAL_DATA)
    message = _held(data)
    if not data.is_told:
        return Act(effect=RemovalEffect.TELL_BLOCKERS, reason=HAS_LOCAL_DATA, message=message)
    return Wait(reason=HAS_LOCAL_DATA, message=message, until=None, look_every=LOOK_AT_BLOCKED_EVERY)


def see_local_data(names: Sequence[str], status: NodeRemovalRequestStatus, *, ends_removal: bool) -> LocalDataSeen:
    """Return the data on the machine, and whether the removal says so already."""
    data = LocalDataSeen(count=len(names), names=tuple(names), ends_removal=ends_removal)
    return data.model_copy(update={"is_told": (status.reason, status.message) == (HAS_LOCAL_DATA, _held(data))})


def _held(data: LocalDataSeen) -> str:
    # What to do stands first: the names are cut where they are too long.
    return shortened(
        "Data is on the machine alone. Delete its claims, or annotate this removal "
        f"{ANNOTATION_DELETE_LOCAL_DATA}=true to lose the data; it is looked at again every "
        f"{format_duration(LOOK_AT_BLOCKED_EVERY)}: {', '.join(data.names)}"
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
    at = "" if until is None else f" until {shown_time(until)}"
    return shortened(f"Waits for {volumes.count} volumes to detach{at}: {', '.join(volumes.names)}")


def _let_go_at(seen: RemovalObservation) -> datetime | None:
    """Return when load balancers have had their time, None if they were not told yet."""
    told_at = seen.status.excluded_at
    return None if told_at is None else told_at + BALANCERS_LET_GO_AFTER
