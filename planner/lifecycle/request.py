"""The next step of a NodeRequest: from the wish to a Ready node, or to its hand-over.

Pure: everything that was seen comes in, `now` is an argument. Each branch is one row of the table
in `tests/planner/lifecycle/test_request.py`.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.seen import RequestSeen, ServerSeen
from planner.lifecycle.step import Act, Done, Step, Wait

BELIEVE_ABSENCE_AFTER: Final = timedelta(seconds=60)
"""A create call of unknown outcome may still make its server appear; clouds answer within this."""
RELEASE_AFTER_READY: Final = timedelta(seconds=60)
"""Planned pods bind within a second of Ready; one that has not by then will not."""
RELEASE_UNREADY_AFTER: Final = timedelta(seconds=60)
"""A registered node that does not turn Ready must not hold its pods."""
LOOK_EVERY: Final = timedelta(seconds=5)
"""Server states come without a message; a boot takes 10 s and more."""
LOOK_AT_RECORD_EVERY: Final = timedelta(minutes=1)
"""A Ready machine's end comes by a message; this is the fallback."""


class RequestEffect(StrEnum):
    """The activities of a request's life."""

    LOOK = "look_request"
    CREATE_SERVER = "create_server"
    MARK_UNMET = "mark_unmet"
    MARK_RUNNING = "mark_running"
    REGISTER_NODE = "register_node"
    TOLERATE_PODS = "tolerate_pods"
    MARK_READY = "mark_ready"
    RELEASE_NODE = "release_node"
    GIVE_UP = "give_up"
    HAND_OVER = "hand_over"
    FINISH = "finish_request"
    FORGET = "forget_request"


def next_step(seen: RequestSeen, now: datetime) -> Step:
    """Return what to do next for this request."""
    if not seen.exists:
        return Done(reason="Gone", message="The request no longer exists")
    if seen.crds_going:
        return Act(
            effect=RequestEffect.FORGET,
            reason="DefinitionRemoved",
            message="Growth's CRDs are being removed: drop the finalizer, leave the server",
        )
    match seen.status.phase:
        case RequestPhase.PENDING:
            return _pending(seen, now)
        case RequestPhase.PROVISIONING:
            return _provisioning(seen, now)
        case RequestPhase.READY:
            return _ready(seen, now)
        case RequestPhase.UNMET | RequestPhase.FAILED:
            return _parked(seen, now)
        case RequestPhase.DEPROVISIONING:
            return Act(
                effect=RequestEffect.HAND_OVER,
                reason=seen.status.reason or "HandOver",
                message="Hand the server over to a removal, which deletes it for certain",
            )


def _pending(seen: RequestSeen, now: datetime) -> Step:
    asked = seen.status.create_attempt_at is not None
    if seen.deleting:
        if asked:
            return _give_up("Cancelled", "The request was deleted while its server may exist")
        return Act(effect=RequestEffect.FINISH, reason="Cancelled", message="Deleted before a server was asked for")
    until = seen.offering_unavailable_until
    if not asked and until is not None and now < until:
        return Act(
            effect=RequestEffect.MARK_UNMET,
            reason="OfferingUnavailable",
            message="Another request found this offering without capacity",
            until=until,
        )
    return Act(effect=RequestEffect.CREATE_SERVER, reason="CreateServer", message="Ask the provider for the server")


def _provisioning(seen: RequestSeen, now: datetime) -> Step:
    status = seen.status
    if seen.deleting:
        return _give_up("Cancelled", "The request was deleted before its node was Ready")
    if seen.server is ServerSeen.BROKEN:
        return _give_up("ServerBroken", "The provider says that the server will not run")
    if _is_gone(seen, now):
        return _give_up("ServerGone", "The provider says that the server does not exist")
    if seen.node is not None:
        if status.registered_at is None:
            return Act(
                effect=RequestEffect.REGISTER_NODE,
                reason="Registered",
                message=f"Node {seen.node.name} joined: label it and keep it for its pods",
            )
        if seen.untolerated and status.released_at is None:
            return Act(
                effect=RequestEffect.TOLERATE_PODS,
                reason="Reserved",
                message=f"Let {seen.untolerated} planned pods onto the node",
            )
        if seen.node.ready:
            return Act(
                effect=RequestEffect.MARK_READY,
                reason="Ready",
                message=f"Node {seen.node.name} is Ready",
                until=now + RELEASE_AFTER_READY,
            )
    if status.running_at is None and (seen.server is ServerSeen.RUNNING or seen.node is not None):
        return Act(
            effect=RequestEffect.MARK_RUNNING,
            reason="Running",
            message="The server runs; its node shall join",
            until=now + seen.timings.join_timeout,
        )
    return _await_node(seen, now)


def _await_node(seen: RequestSeen, now: datetime) -> Step:
    status = seen.status
    if status.running_at is None:
        deadline = status.provisioning_deadline or now
        if now >= deadline:
            return _give_up("ProvisioningTimeout", "The server did not run in time")
        return Wait(
            reason="ServerBoot",
            message="The server boots; if it does not run in time it is removed",
            until=deadline,
            look_every=LOOK_EVERY,
        )
    deadline = status.join_deadline or now
    if now >= deadline:
        return _give_up("JoinTimeout", "The node was not Ready in time")
    if status.registered_at is not None and status.released_at is None:
        release_at = status.registered_at + RELEASE_UNREADY_AFTER
        if now >= release_at:
            return Act(
                effect=RequestEffect.RELEASE_NODE,
                reason="NotReady",
                message="The node is registered and not Ready: its pods may go elsewhere",
            )
        deadline = min(deadline, release_at)
    return Wait(
        reason="NodeReady",
        message="The node shall become Ready; if it does not in time the server is removed",
        until=deadline,
        look_every=LOOK_EVERY,
    )


def _ready(seen: RequestSeen, now: datetime) -> Step:
    status = seen.status
    node_gone = seen.node is None
    if status.released_at is None and not node_gone:
        if seen.deleting:
            return _release("Deleted", "The request was deleted: the machine stays as plain capacity")
        if not seen.awaited:
            return _release("PodsBound", "No planned pod is waiting any more")
        if status.release_by is None or now >= status.release_by:
            return _release("ReleaseTimeout", f"{seen.awaited} planned pods have not come")
        if seen.untolerated:
            return Act(
                effect=RequestEffect.TOLERATE_PODS,
                reason="Reserved",
                message=f"Let {seen.untolerated} planned pods onto the node",
            )
        return Wait(
            reason="PodsBind",
            message=f"{seen.awaited} of {seen.seats} planned pods are not bound; then the node opens for all",
            until=status.release_by,
            look_every=LOOK_EVERY,
        )
    if seen.deleting:
        return Act(effect=RequestEffect.FINISH, reason="Deleted", message="The record was deleted; the machine stays")
    if _is_gone(seen, now):
        return Act(effect=RequestEffect.FINISH, reason="ServerGone", message="The server no longer exists")
    if node_gone and seen.server is not ServerSeen.UNKNOWN:
        return _give_up("NodeGone", "The Node was deleted while its server runs")
    if status.expires_at is None or now >= status.expires_at:
        return Act(effect=RequestEffect.FINISH, reason="Expired", message="The record has been kept long enough")
    return Wait(
        reason="Record",
        message="The machine is Ready; this record goes at the deadline, the machine stays",
        until=status.expires_at,
        look_every=LOOK_AT_RECORD_EVERY,
    )


def _parked(seen: RequestSeen, now: datetime) -> Step:
    status = seen.status
    if seen.deleting:
        return Act(effect=RequestEffect.FINISH, reason="Deleted", message="The record was deleted; there is no server")
    if status.expires_at is None or now >= status.expires_at:
        return Act(
            effect=RequestEffect.FINISH,
            reason="Expired",
            message="The offering may be tried again",
        )
    return Wait(
        reason=status.phase.value,
        message=f"{status.message or status.reason}; at the deadline this record goes and the choice is open again",
        until=status.expires_at,
    )


def _is_gone(seen: RequestSeen, now: datetime) -> bool:
    asked = seen.status.create_attempt_at
    return seen.server is ServerSeen.ABSENT and (asked is None or now >= asked + BELIEVE_ABSENCE_AFTER)


def _give_up(reason: str, message: str) -> Act:
    return Act(effect=RequestEffect.GIVE_UP, reason=reason, message=message)


def _release(reason: str, message: str) -> Act:
    return Act(effect=RequestEffect.RELEASE_NODE, reason=reason, message=message)
