"""The next step of a NodeRemovalRequest: cool-off, drain, proof of emptiness, point of no return, deletion.

Pure: everything that was seen comes in, `now` is an argument. Each branch is one row of the table
in `tests/planner/lifecycle/test_removal.py`.
"""

from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.clocks.deadlines import told_late, with_consequence
from planner.lifecycle.clocks.drain_limits import TIMED_OUT, given_up, until_limit
from planner.lifecycle.decision import RETRIED, annotated, answer
from planner.lifecycle.departure.replacement import (
    CANCELS,
    begun,
    interrupted,
    is_move,
    not_replaced_yet,
    without_place,
)
from planner.lifecycle.departure.waiting import awaits_pods, no_longer
from planner.lifecycle.drain import daemons_leave, per_node_pods_stay, pods_leave
from planner.lifecycle.leaving import HAS_LOCAL_DATA, data_stays, leave_balancers, leaves_whole
from planner.lifecycle.removal_effect import CONSEQUENCES, RemovalEffect
from planner.lifecycle.request import BELIEVE_ABSENCE_AFTER
from planner.lifecycle.seen import RemovalObservation, ServerSeen
from planner.lifecycle.step import Act, Decision, DecisionKind, Done, Step, Wait, shared, shortened

TAINT_SETTLES_AFTER: Final = timedelta(seconds=5)
"""A scheduler that has not seen the taint yet may still bind a pod within its cache delay."""
LOOK_EVERY: Final = timedelta(seconds=5)
"""A server's disappearance comes without a message."""
LOOK_AT_COOL_OFF_EVERY: Final = timedelta(seconds=15)
"""Cancels come by a message; the pods that a cancel places count as placed for 30 s only, so this is the fallback."""
LOOKS_AT_COOL_OFF: Final = 4
"""Of a longer one: each adds 11 events to a history."""
LOOK_AT_PARKED_EVERY: Final = timedelta(minutes=10)
"""A parked server may be deleted by a person at the provider; the removal then ends by itself."""
LONGEST_PARKED: Final = timedelta(days=1)
"""The wait of a removal that parks again and again, unless its pool asks for a longer one from the first."""

NOT_EMPTY: Final = "NotEmpty"
NOT_OURS: Final = "NotOurs"
NOT_DEAD: Final = "NotDead"
WITHDRAWN: Final = "Withdrawn"
"""What ends a removal by itself, as a person's cancel does; recorded in their place."""
BY_PLANNER: Final = "Planner"
"""What cancels a removal whose machine is wanted again; its pool may have been deleted, too."""
FOUND_DEAD: Final = "Dead"
"""Why a machine goes whose Node a round found dead. None of its pods is asked to leave: nobody would hear it."""
BY_ITSELF: Final = frozenset({NOT_EMPTY, NOT_OURS, NOT_DEAD, WITHDRAWN, HAS_LOCAL_DATA, TIMED_OUT, *CANCELS})
"""Who cancels a removal that no person and no round does."""
REMOVE_NOW: Final = "RemoveNow"
"""Why a machine goes that bears the taint growth.dev/remove-now. None of its pods is asked to leave: it is empty."""
REMOVED: Final = "Removed"
"""Reason of the end of a removal whose server no longer exists."""
BY_TIMER: Final = "Timer"
BY_PROVIDER: Final = "Provider"
"""What begins a parked deletion anew in a person's place."""
DELETE_FAILED: Final = "DeleteFailed"
"""Reason of a removal whose provider refused a delete call; its message tells the answer."""


def next_step(seen: RemovalObservation, decision: Decision | None, now: datetime) -> Step:
    """Return the next step of this removal.

    `decision` is the oldest message that no step has answered yet; one that comes too late or too
    early for its phase has no effect here (the update's validator has told its sender). A decision
    that stands on the object goes before it.
    """
    step = with_consequence(decide(seen, decision, now), lambda at: decide(seen, None, at), CONSEQUENCES)
    return told_late(step, seen, now, RemovalEffect.TELL_BLOCKERS)


def decide(seen: RemovalObservation, decision: Decision | None, now: datetime) -> Step:
    """Return the next step as `next_step` does, without words on deadlines."""
    if not seen.exists:
        return Done(reason="Gone", message="The removal no longer exists")
    if seen.crds_going:
        return Act(
            effect=RemovalEffect.FORGET,
            reason="DefinitionRemoved",
            message="Growth's CRDs are being removed: drop the finalizer, leave the server",
        )
    # Before any step: an annotation left there would take effect in a later phase than the one it was written for.
    answered = answer(seen)
    if answered is not None:
        return Act(effect=RemovalEffect.ANSWER, reason=answered.reason, message=answered.message)
    decision = annotated(seen) or decision
    match seen.status.phase:
        case RemovalPhase.PENDING:
            return _turned_back(seen, decision) or _pending(seen, now)
        case RemovalPhase.DRAINING:
            return _turned_back(seen, decision) or until_limit(_draining(seen, now), seen, now)
        case RemovalPhase.DEPROVISIONING:
            return _deprovisioning(seen, now)
        case RemovalPhase.COULD_NOT_REMOVE:
            return _parked(seen, decision, now)


def _turned_back(seen: RemovalObservation, decision: Decision | None) -> Step | None:
    """Return the step that ends the removal before its point of no return or takes it past that at once, if any."""
    status = seen.status
    node = seen.node
    if seen.immediate:
        return data_stays(seen) or _commit("HandOver", "The removal is immediate: delete the server")
    # A recorded cancel is final: `commit_removal` writes only on a version of the object without one.
    if status.cancel is not None:
        reason = _reason_of(status.cancel.by)
        why = shortened(f"Cancelled by {status.cancel.by}: {status.cancel.reason or 'without a reason'}")
        effect = RemovalEffect.UNTAINT_NODE if _is_marked(seen) else RemovalEffect.FINISH
        return Act(effect=effect, reason=reason, message=why)
    if decision is not None and decision.kind is DecisionKind.CANCEL:
        return _cancel(decision.by, decision.reason or "Cancelled by message")
    if seen.deleting:
        return _cancel("Delete", "The removal was deleted")
    if node is None:
        return data_stays(seen) or _commit("NodeGone", "The Node no longer exists: delete its server")
    if node.foreign:
        return _cancel(NOT_OURS, f"Node {node.name} is not the machine that this removal names: nothing is removed")
    if node.keep or node.kept_by:
        return _cancel("Person", f"The node was annotated {node.kept_by or 'do-not-remove'}")
    if seen.withdrawn:
        return _cancel(WITHDRAWN, f"{seen.withdrawn}: the machine stays")
    if seen.alive:
        return _cancel(NOT_DEAD, f"{seen.alive}: the machine stays")
    return data_stays(seen)


def _pending(seen: RemovalObservation, now: datetime) -> Step:
    status = seen.status
    if status.scale_down_at is None or status.tainted_at is None or not _is_tainted(seen):
        stays = per_node_pods_stay(seen)
        if stays is not None:
            # No taint keeps pods off meanwhile.
            return _not_empty(seen) if seen.occupant_count and not _may_have_pods(seen) else stays
        if is_move(seen):
            return begun(seen, now)
        return Act(
            effect=RemovalEffect.TAINT_NODE,
            reason="CoolOff",
            message="Cool-off: no new pods; the node goes unless pods or people want it back",
            until=status.scale_down_at or now + seen.timings.soft_grace,
        )
    if (waits := not_replaced_yet(seen, now)) is not None:
        return waits
    cooled_at = now if is_move(seen) else status.scale_down_at
    verify_at = max(cooled_at, status.tainted_at + TAINT_SETTLES_AFTER, seen.judged_at or now)
    if now < verify_at:
        return Wait(
            reason="CoolOff",
            message="Cool-off: no new pods come, and it can be cancelled until the deadline",
            until=verify_at,
            # Pods and people that want the node back send a message: this is the fallback, some looks a cool-off.
            look_every=shared(
                max(LOOK_AT_COOL_OFF_EVERY, (verify_at - status.tainted_at) / LOOKS_AT_COOL_OFF), seen.others
            ),
        )
    if not seen.occupant_count:
        return _emptied(seen, "Empty", "The node is empty after its cool-off: delete it")
    if not _may_have_pods(seen):
        return _not_empty(seen)
    if seen.awaited is not None:
        return awaits_pods(seen, now) or no_longer(seen)
    return Act(
        effect=RemovalEffect.DRAIN,
        reason="Draining",
        message=f"{seen.occupant_count} pods are on the node or on their way to it: they are asked to leave",
    )


def _draining(seen: RemovalObservation, now: datetime) -> Step:
    if _is_tainted(seen) and (end := given_up(seen, now)) is not None:
        return end
    tainted_at = seen.status.tainted_at
    if _is_tainted(seen) and seen.occupant_count:
        if not _may_have_pods(seen):
            return _not_empty(seen)
        # Pods that are waited for have their time from the taint on: it is written anew where nobody knows since when.
        if seen.awaited is None or tainted_at is not None:
            # Waited for again: the pool gives more time than when the drain began, or its mode is another one since.
            # Before its pods go: what a balancer still sends to the node would meet nobody.
            return (
                awaits_pods(seen, now) or interrupted(seen, now) or leave_balancers(seen, now) or pods_leave(seen, now)
            )
    if tainted_at is None or not _is_tainted(seen):
        return Act(
            effect=RemovalEffect.TAINT_NODE,
            reason="TaintLost",
            message="The node has lost its taint: set it again, so that no new pods come",
        )
    settled_at = tainted_at + TAINT_SETTLES_AFTER
    if now < settled_at:
        return Wait(
            reason="TaintSettles",
            message="No pod is on the node; a scheduler that has not seen its taint yet may still bind one",
            until=settled_at,
            # No longer, should a clock that was set right since have written when it was tainted.
            look_every=TAINT_SETTLES_AFTER,
        )
    return (
        daemons_leave(seen)
        or without_place(seen, now)
        or _emptied(seen, "Drained", "The node is empty after its pods have left: delete it")
    )


def _may_have_pods(seen: RemovalObservation) -> bool:
    """Return whether pods that are on the node after its cool-off let the removal go on."""
    return seen.may_drain or seen.awaited is not None


def _emptied(seen: RemovalObservation, reason: str, message: str) -> Step:
    stays = per_node_pods_stay(seen)
    if stays is not None:
        return stays
    if not seen.gone_pods:
        return _commit(reason, message)
    pods = "1 pod" if seen.gone_pods == 1 else f"{seen.gone_pods} pods"
    return _commit(FOUND_DEAD, f"The node is dead and {pods} cannot end: delete its server, and they count as gone")


def _not_empty(seen: RemovalObservation) -> Act:
    names = ", ".join(seen.occupants)
    return _cancel(NOT_EMPTY, f"{seen.occupant_count} pods are on the node or on their way to it: {names}")


def _deprovisioning(seen: RemovalObservation, now: datetime) -> Step:
    status = seen.status
    if seen.server is ServerSeen.FOREIGN or seen.server is ServerSeen.ABSENT:
        believe_at = None if seen.create_attempt_at is None else seen.create_attempt_at + BELIEVE_ABSENCE_AFTER
        if believe_at is not None and now < believe_at:
            return Wait(
                reason="AbsenceProof",
                message="The server may still appear after its create call",
                until=believe_at,
                look_every=shared(LOOK_EVERY, seen.others),
            )
        return _without_server(seen)
    whole = leaves_whole(seen, now)
    if whole is not None:
        return whole
    retry_at = None if status.remove_attempted_at is None else status.remove_attempted_at + seen.timings.retry
    if status.removal_attempts and retry_at is not None and now < retry_at:
        return Wait(
            reason="ServerDeletion",
            message=f"Delete call {status.removal_attempts} of {seen.timings.max_attempts} was made, "
            "and the server still exists",
            until=retry_at,
            look_every=shared(LOOK_EVERY, seen.others),
        )
    if status.removal_attempts >= seen.timings.max_attempts:
        return Act(
            effect=RemovalEffect.PARK,
            reason="RemovalFailed",
            message=shortened(f"The server still exists after {status.removal_attempts} delete calls: {_why(seen)}"),
            until=now + _wait_of_parked(seen),
        )
    return Act(
        effect=RemovalEffect.DELETE_SERVER, reason="DeleteServer", message="Ask the provider to delete the server"
    )


def _why(seen: RemovalObservation) -> str:
    """Return the known reason why the delete calls had no effect."""
    if seen.status.reason == DELETE_FAILED:
        return seen.status.message
    # It may be about something else than the deletion, such as a server that is switched off.
    account = f"says of the server: {seen.server_problem}" if seen.server_problem else "does not say why"
    return f"its provider took them and {account}"


def _without_server(seen: RemovalObservation) -> Step:
    is_its_node = seen.node is not None and not seen.node.foreign
    if is_its_node and seen.server is ServerSeen.ABSENT:
        return Act(effect=RemovalEffect.DELETE_NODE, reason="ServerGone", message="Delete the Node object")
    reason, message = REMOVED, "The server no longer exists"
    if seen.server is ServerSeen.FOREIGN:
        reason, message = NOT_OURS, "The server of that name is not the one that this removal is about: it stays"
    # A Node that stays shall not stay closed.
    effect = RemovalEffect.UNTAINT_NODE if _is_marked(seen) else RemovalEffect.FINISH
    return Act(effect=effect, reason=reason, message=message)


def _is_marked(seen: RemovalObservation) -> bool:
    """Return whether the Node carries anything of this removal that a Node that stays shall not keep."""
    node = seen.node
    return _is_tainted(seen) or (
        node is not None and node.excluded and (not node.foreign or seen.status.excluded_at is not None)
    )


def _is_tainted(seen: RemovalObservation) -> bool:
    """Return whether the Node carries this removal's taint; a foreign one may carry another's."""
    node = seen.node
    return node is not None and node.scale_down and (not node.foreign or seen.status.tainted_at is not None)


def _parked(seen: RemovalObservation, decision: Decision | None, now: datetime) -> Step:
    status = seen.status
    kind = None if decision is None else decision.kind
    if seen.server is ServerSeen.ABSENT or seen.server is ServerSeen.FOREIGN:
        return _resume(BY_PROVIDER, "The server no longer exists")
    if decision is not None and kind is DecisionKind.RETRY:
        return _resume(decision.by, decision.reason or "Try to delete the server again")
    if decision is not None and kind is DecisionKind.ABANDON:
        return Act(
            effect=RemovalEffect.ABANDON,
            reason="Abandoned",
            message=decision.reason or "Leave the server to its people: lift the taint, label the server",
            by=decision.by,
        )
    if decision is not None and kind is DecisionKind.SKIP:
        return Act(
            effect=RemovalEffect.SKIP,
            reason="Skipped",
            message=decision.reason or "Treat the server as gone: delete the Node object and end",
            by=decision.by,
        )
    if status.retry_at is None or now >= status.retry_at:
        return _resume(BY_TIMER, "Try to delete the server again after a long wait")
    return Wait(
        reason="Parked",
        message="The server could not be removed. A person may retry, skip or abandon (by command or annotation)",
        until=status.retry_at,
        look_every=LOOK_AT_PARKED_EVERY,
    )


def _wait_of_parked(seen: RemovalObservation) -> timedelta:
    """Return the wait for a person: twice as long each time the removal parks without one, up to `LONGEST_PARKED`."""
    wait = seen.timings.parked_retry
    for _ in range(seen.status.times_parked):
        if wait >= LONGEST_PARKED:
            break
        wait = min(2 * wait, LONGEST_PARKED)
    return wait


def _commit(reason: str, message: str) -> Act:
    return Act(effect=RemovalEffect.COMMIT, reason=reason, message=message)


def _cancel(by: str, reason: str) -> Act:
    return Act(effect=RemovalEffect.CANCEL, reason=_reason_of(by), message=shortened(reason), by=by)


def _reason_of(by: str) -> str:
    return by if by in BY_ITSELF else "Cancelled"


def is_by_person(by: str) -> bool:
    """Return whether a person cancelled a removal, by command, annotation or delete, as its record says."""
    return by not in BY_ITSELF and by != BY_PLANNER


def _resume(by: str, message: str) -> Act:
    return Act(effect=RemovalEffect.RESUME, reason=RETRIED, message=message, by=by)
