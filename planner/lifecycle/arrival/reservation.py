"""The reservation of a Ready Node: for whom it is kept, until when, and how that ends.

Pure, as the rest of a request's lifecycle.
"""

from datetime import datetime, timedelta
from typing import Final

from planner.lifecycle.arrival.effect import DELETED, RequestEffect, release, tolerate
from planner.lifecycle.seen import RequestObservation
from planner.lifecycle.step import Act, Step, Wait, shared, shortened

RELEASE_AFTER_READY: Final = timedelta(seconds=60)
"""Planned pods bind within a second of the scheduler's try; one that has not by then will not."""
LOOK_EVERY: Final = timedelta(seconds=5)
"""Server states come without a message; a boot takes 10 s and more."""
LOOK_WHILE_KEPT_EVERY: Final = timedelta(seconds=30)
"""A drain may take hours; its pods and its end come as changes of the request, which wake it."""
RELEASE_TIMEOUT: Final = "ReleaseTimeout"
"""Reason of a release: the scheduler tried the planned pods, and they did not come."""
STARTUP: Final = "Startup"
"""Reason of a wait: the Node is Ready, and something is missing on it for its planned pods."""
NOT_TRIED: Final = "NotTried"
"""Reason of a release: the scheduler has not tried one of the planned pods until the end of joinTimeout."""


def reserved(seen: RequestObservation, now: datetime) -> Step:
    """Return the step of a machine whose reservation has not ended."""
    if seen.deleting:
        return release(DELETED, "The request was deleted: the machine stays as plain capacity")
    if not seen.awaited:
        return _kept(seen) if seen.held_by else _settled(seen, now)
    if (late := _starts_again(seen, now)) is not None:
        return late
    if seen.status.tried_at is None and seen.tried:
        return Act(
            effect=RequestEffect.MARK_TRIED,
            reason="Tried",
            message=f"The scheduler tries the planned pods; {seen.awaited} of {seen.seats} are not bound",
            until=now + RELEASE_AFTER_READY,
        )
    is_tried = seen.tried is not False or seen.status.tried_at is not None
    deadline = seen.status.release_by or now
    if not is_tried:
        # A scheduler that was stopped has refused nobody: its time begins with its first try.
        deadline = max(deadline, _tried_by(seen, now))
    if now >= deadline and seen.held_by:
        # Its pods come one after the other. The last of them has the same time as all others.
        return Act(
            effect=RequestEffect.MARK_TRIED,
            reason="Tried",
            message=f"{seen.awaited} of {seen.seats} planned pods are not bound, and {seen.held_by} is still emptied",
            until=now + RELEASE_AFTER_READY,
        )
    if now >= deadline:
        # The one place in which a reservation ends without its pods.
        text = f"{seen.awaited} planned pods have not come"
        if is_tried:
            return release(RELEASE_TIMEOUT, text)
        return release(NOT_TRIED, f"{text}, and the scheduler has not tried one of them")
    if seen.untolerated:
        return tolerate(seen)
    untried = "" if is_tried else ", and the scheduler has tried none of them since it could take them"
    return Wait(
        reason="PodsBind" if is_tried else "SchedulerTries",
        message=f"{seen.awaited} of {seen.seats} planned pods are not bound{untried}",
        until=deadline,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def _starts_again(seen: RequestObservation, now: datetime) -> Step | None:
    """Return what is done while a Node that was Ready lacks something for its planned pods; None if nothing is missing.

    A pod got its seat while the machine was about to be Ready for others, or a network agent begins anew.
    """
    node = seen.node
    if node is None or not node.ready or not node.missing or now >= (deadline := _tried_by(seen, now)):
        return None
    if seen.untolerated:
        return tolerate(seen)
    return Wait(
        reason=STARTUP,
        message=shortened(f"The node is Ready and its planned pods cannot land yet: {node.missing}"),
        until=deadline,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def _kept(seen: RequestObservation) -> Wait:
    """Return the wait of a machine for pods that are still on the one that it replaces."""
    return Wait(
        reason="Replaces",
        message=f"The node is Ready and kept for pods of {seen.held_by}, which it replaces, until that removal ends",
        until=None,
        look_every=shared(LOOK_WHILE_KEPT_EVERY, seen.others),
    )


def _tried_by(seen: RequestObservation, now: datetime) -> datetime:
    """Return until when the scheduler may be awaited: a Node that was Ready at once has no deadline to join by."""
    ready_at = seen.status.ready_at
    return seen.status.join_deadline or (now if ready_at is None else ready_at + seen.timings.join_timeout)


def _settled(seen: RequestObservation, now: datetime) -> Step:
    """Return the step of a machine whose own pods are there.

    Opened now, it would take pods that were planned onto a machine still on its way, whose place
    there stays empty: measured, 2 of 28 pods.
    """
    release_by = seen.status.release_by
    if not seen.unsettled or not seen.seats:
        return release("PodsBound", "No planned pod is waiting any more")
    if release_by is None or now >= release_by:
        return release("PodsBound", "Its own pods are there; those of other machines have had their time")
    if seen.status.settled_at is None:
        return Act(
            effect=RequestEffect.MARK_SETTLED,
            reason="Settled",
            message=f"All planned pods are bound; {seen.unsettled} other machines wait for theirs",
        )
    return Wait(
        reason="OthersSettle",
        message=f"All its pods are bound; those of {seen.unsettled} other machines are on their way",
        until=release_by,
        look_every=shared(LOOK_EVERY, seen.others),
    )
