"""What a removal waits for in a pool whose mode is `wait`: its node is closed, and its pods end by themselves.

Pure: part of the step function of a removal (`planner.lifecycle.removal`). No pod is asked to leave before `hardGrace`,
which counts from the taint here, and without it none ever is.
Source: docs/decisions/0024-a-node-that-waits-for-its-pods-waits-for-ever.md; Escalator, `soft_delete_grace_period` and
`hard_delete_grace_period`.
"""

from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration
from api.meta import shown_time
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from planner.lifecycle.drain import HARD_GRACE
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import PodsAwaited, RemovalObservation
from planner.lifecycle.step import Act, Step, Wait, shared

WAITS_FOR_PODS: Final = "WaitsForPods"
"""Reason of a removal after its cool-off, until the last pod on its node has ended."""
LOOK_EVERY: Final = timedelta(minutes=10)
"""A pod that ends wakes its removal, and so does a person who cancels: this is the fallback. It adds 11 events to a
history each time, so a wait of a week is some three runs of a workflow."""


def awaits_pods(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the step of a closed node whose pods are waited for; None where none is, or no longer."""
    awaited = seen.awaited
    if awaited is None or not seen.occupant_count or is_over(awaited, now):
        return None
    if not awaited.is_told:
        return Act(effect=RemovalEffect.TELL_BLOCKERS, reason=WAITS_FOR_PODS, message=wait_sentence(awaited.until))
    look_every = shared(LOOK_EVERY, seen.others)
    return Wait(
        reason=WAITS_FOR_PODS,
        message=f"{seen.occupant_count} pods are on the node or on their way to it, and none is asked to leave: it "
        "goes once they have ended, unless pods or people want it back. "
        f"It is looked at again every {format_duration(look_every)}",
        until=awaited.until,
        look_every=look_every,
    )


def is_over(awaited: PodsAwaited, now: datetime) -> bool:
    """Return whether pods have had their time, and are deleted from now on."""
    return awaited.until is not None and now >= awaited.until


def no_longer(seen: RemovalObservation) -> Act:
    """Return the step that ends the wait: the drain begins, in which pods are deleted whatever keeps them."""
    return Act(
        effect=RemovalEffect.DRAIN,
        reason=HARD_GRACE,
        message=f"hardGrace is over since the node was closed: the {seen.occupant_count} pods that are left are "
        "deleted, whatever keeps them",
    )


def see_pods_awaited(
    status: NodeRemovalRequestStatus, hard_grace: timedelta | None, *, began: datetime | None
) -> PodsAwaited:
    """Return until when pods are waited for, and whether the removal says so already.

    Args:
        status: of the removal.
        hard_grace: of its pool.
        began: when its node was closed, None while that is not known.
    """
    until = None if hard_grace is None or began is None else began + hard_grace
    return PodsAwaited(until=until, is_told=(status.reason, status.message) == (WAITS_FOR_PODS, wait_sentence(until)))


def wait_sentence(until: datetime | None) -> str:
    """Return a sentence for the object, which is the same until the end of the wait changes."""
    then = (
        "" if until is None else f". From {shown_time(until)} on, the end of hardGrace, those that are left are deleted"
    )
    return f"The node takes no new pods, and goes once those that are on it have ended by themselves{then}"
