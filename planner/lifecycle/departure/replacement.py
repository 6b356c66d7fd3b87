"""What a removal waits for that moves its pods: machines that replace its own, its turn, and pods that take over.

Pure: part of the step function of a removal (`planner.lifecycle.removal`). No pod is asked to leave before there is
room for it, and a machine whose pods did not find theirs stays.
Source: docs/design.md#replacement.
"""

from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import RemovalObservation
from planner.lifecycle.step import Act, Step, Wait, shared, shortened

REPLACEMENT: Final = "Replacement"
"""Reason of a removal, and of its taint, from its beginning until its pods are asked to leave."""
AWAITS_TURN: Final = "AwaitsTurn"
"""Reason while another machine of the same step is emptied."""
REPLACEMENT_UNREADY: Final = "ReplacementNotReady"
"""Reason of a drain that rests, as a machine that was Ready is not."""
SUCCESSORS_BIND: Final = "SuccessorsBind"
"""Reason while the machine is empty and pods that take over have no place yet."""
NOT_REPLACED: Final = "NotReplaced"
MOVE_FAILED: Final = "MoveFailed"
STEP_CANCELLED: Final = "StepCancelled"
"""What cancels a removal in a person's place: machines that do not come, pods that find no place, the step it is of."""
CANCELS: Final = frozenset({NOT_REPLACED, MOVE_FAILED, STEP_CANCELLED})

SUCCESSORS_WITHIN: Final = timedelta(seconds=60)
"""After its pods were asked to leave, those that take their place have come and are bound: a controller makes the next
pod within seconds, or when the one before is gone."""
LOOK_EVERY: Final = timedelta(seconds=15)
"""A Node that becomes Ready wakes whom it replaces; this is the fallback."""
UNREADY_FOR: Final = timedelta(minutes=2)
"""A kubelet that is begun anew is back by then. Longer, and the pods that are left stay where they are."""


def is_move(seen: RemovalObservation) -> bool:
    """Return whether the removal moves its pods to machines that are known."""
    return seen.replacement is not None or seen.moves > 0


def first_wait(seen: RemovalObservation) -> timedelta:
    """Return how long the removal waits at most before its pods are asked to leave."""
    if seen.replacement is not None:
        return seen.replacement.within
    return timedelta() if seen.moves > 0 else seen.timings.soft_grace


def begun(seen: RemovalObservation, now: datetime) -> Act:
    """Return the step that closes the Node while its pods stay, or the end of a removal whose machines do not come."""
    if seen.cut_off:
        return _cancel(STEP_CANCELLED, "The round that began its step was cut off: the machine stays")
    replacement = seen.replacement
    if replacement is not None and replacement.lost:
        return _cancel(NOT_REPLACED, f"{replacement.lost}: the machine stays")
    waits = (
        "its pods move to machines that have room for them"
        if replacement is None
        else f"its pods stay until {', '.join(replacement.names)} can take them"
    )
    return Act(
        effect=RemovalEffect.TAINT_NODE,
        reason=REPLACEMENT,
        message=f"No new pods: {waits}",
        until=seen.status.scale_down_at or (None if replacement is None else now + replacement.within),
    )


def not_replaced_yet(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the step while machines that replace this one are awaited, or its turn; None when its pods may leave."""
    replacement, status = seen.replacement, seen.status
    if replacement is not None and replacement.lost:
        return _cancel(NOT_REPLACED, f"{replacement.lost}: the machine stays")
    if replacement is not None and not replacement.is_ready:
        names = ", ".join(replacement.awaited)
        deadline = max(status.scale_down_at or now, replacement.judged_at or now)
        if now >= deadline:
            return _cancel(NOT_REPLACED, f"Not Ready in time: {names}. The machine stays")
        return Wait(
            reason=REPLACEMENT,
            message=shortened(f"Its pods stay until machines that take its place are Ready: {names}"),
            until=deadline,
            look_every=shared(LOOK_EVERY, seen.others),
        )
    if seen.ahead:
        look_every = shared(LOOK_EVERY, seen.others)
        return Wait(
            reason=AWAITS_TURN,
            message=f"Its pods stay until {seen.ahead} is empty and its pods have their places: of one step, machines "
            "whose pods move to others that are there are emptied one after the other. "
            f"That is looked at again every {format_duration(look_every)}",
            until=None,
            look_every=look_every,
        )
    return None


def interrupted(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the step of a drain whose pods have lost the machine that was to take them; None while it is there."""
    replacement = seen.replacement
    if replacement is None:
        return None
    if replacement.lost:
        return _cancel(NOT_REPLACED, f"{replacement.lost}: pods that are left on the machine stay")
    if replacement.unready_since is None:
        return None
    names, until = ", ".join(replacement.awaited), replacement.unready_since + UNREADY_FOR
    if now >= until:
        return _cancel(NOT_REPLACED, f"No longer Ready: {names}. Pods that are left on the machine stay")
    return Wait(
        reason=REPLACEMENT_UNREADY,
        message=shortened(f"No pod is asked to leave while machines that take its place are not Ready: {names}"),
        until=until,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def without_place(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the step of an empty machine while pods that take over for its own wait; None when none does."""
    successors = seen.successors
    if not successors.count or successors.since is None:
        return None
    names = ", ".join(successors.names)
    until = successors.since + SUCCESSORS_WITHIN
    if now >= until:
        return _cancel(MOVE_FAILED, f"{successors.count} pods have found no place elsewhere: {names}. It stays")
    return Wait(
        reason=SUCCESSORS_BIND,
        message=shortened(f"The node is empty, and {successors.count} pods that take over are not bound: {names}"),
        until=until,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def _cancel(by: str, why: str) -> Act:
    return Act(effect=RemovalEffect.CANCEL, reason=by, message=shortened(why), by=by)
