"""The next step of a NodeRequest: from the wish to a Ready node, or to its hand-over.

Pure: everything that was seen comes in, `now` is an argument. Each branch is one row of the table
in `tests/planner/lifecycle/test_request.py`.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.seen import NodeSeen, RequestObservation, ServerSeen
from planner.lifecycle.step import Act, Done, Step, Wait, shared, shortened

BELIEVE_ABSENCE_AFTER: Final = timedelta(seconds=60)
"""A create call of unknown outcome may still make its server appear; clouds answer within this."""
RELEASE_AFTER_READY: Final = timedelta(seconds=60)
"""Planned pods bind within a second of Ready; one that has not by then will not."""
RELEASE_UNREADY_AFTER: Final = timedelta(seconds=60)
"""A registered node that does not turn Ready must not hold its pods."""
LOOK_EVERY: Final = timedelta(seconds=5)
"""Server states come without a message; a boot takes 10 s and more."""
LONGEST_LOOK: Final = timedelta(seconds=60)
"""What has taken minutes is not looked at each few seconds: every look is ten events of the workflow's history."""
PATIENCE: Final = 4
"""A look comes at the latest when the wait so far has grown by this part of it. Only a server's own state is learned
by it: a Node that joins comes by a message."""
TIMEOUTS_WHILE_IT_PROGRESSES: Final = 3
"""A server that the provider still works on gets so many times its time: begun anew, it would be as slow."""
LOOK_AT_RECORD_EVERY: Final = timedelta(minutes=1)
"""The end of a machine or of its record comes by a message; this is the fallback."""

NAME_TAKEN: Final = "NameTaken"
"""Reason of a request whose name another's server or Node bears."""
CANCELLED: Final = "Cancelled"
DELETED: Final = "Deleted"
BY_DELETION: Final = frozenset({CANCELLED, DELETED})
"""Reasons of steps that the deletion of the request asks for."""
PROVISIONING_TIMEOUT: Final = "ProvisioningTimeout"
JOIN_TIMEOUT: Final = "JoinTimeout"
TIMEOUTS: Final = frozenset({PROVISIONING_TIMEOUT, JOIN_TIMEOUT})
"""Reasons to give up that a Ready Node or a bound pod overrules. Source: docs/design.md#hand-over."""


SERVER_BROKEN: Final = "ServerBroken"
USELESS: Final = TIMEOUTS | {SERVER_BROKEN}
"""Reasons to give up that speak against buying the same offering again at once."""
QUOTA_EXCEEDED: Final = "QuotaExceeded"
BUYING_PAUSED: Final = "BuyingPaused"
OF_THE_ACCOUNT: Final = frozenset({QUOTA_EXCEEDED, BUYING_PAUSED})
"""Reasons of an Unmet request that speak against its account and not against its offering."""


class RequestEffect(StrEnum):
    """The activities of a request's lifecycle."""

    LOOK = "look_request"
    CREATE_SERVER = "create_server"
    MARK_UNMET = "mark_unmet"
    MARK_RUNNING = "mark_running"
    REGISTER_NODE = "register_node"
    TOLERATE_PODS = "tolerate_pods"
    MARK_READY = "mark_ready"
    MARK_SETTLED = "mark_settled"
    RELEASE_NODE = "release_node"
    GIVE_UP = "give_up"
    HAND_OVER = "hand_over"
    FINISH = "finish_request"
    FORGET = "forget_request"


def next_step(seen: RequestObservation, now: datetime) -> Step:
    """Return the next step of this request."""
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


def _pending(seen: RequestObservation, now: datetime) -> Step:
    status = seen.status
    # The attempt is written before the call is made: from then on the server may exist, whatever became of the call.
    asked = status.create_attempt_at is not None
    if seen.deleting:
        if asked:
            return _give_up(CANCELLED, "The request was deleted while its server may exist")
        return _finish(CANCELLED, "Deleted before a server was asked for")
    left_out = None if asked else _left_out(seen, now)
    if left_out is not None:
        return left_out
    deadline = status.provisioning_deadline or now + seen.timings.provisioning_timeout
    if asked and now >= deadline:
        return _give_up(PROVISIONING_TIMEOUT, "No create call was answered in time; the server may exist")
    return Act(
        effect=RequestEffect.CREATE_SERVER,
        reason="CreateServer",
        message="Ask the provider for the server",
        until=deadline,
    )


def _left_out(seen: RequestObservation, now: datetime) -> Act | None:
    """Return the end without a call of a request whose machine cannot be had now, as another request found out."""
    paused_until, until = seen.buying_paused_until, seen.offering_unavailable_until
    if paused_until is not None and now < paused_until:
        refused = f"Its class is refused {seen.refused_part}" if seen.refused_part else "Nothing of its class is bought"
        return Act(
            effect=RequestEffect.MARK_UNMET,
            reason=BUYING_PAUSED,
            message=shortened(f"{refused} until then: {seen.pause_message}"),
            until=paused_until,
        )
    if until is not None and now < until:
        return Act(
            effect=RequestEffect.MARK_UNMET,
            reason="OfferingUnavailable",
            message="Another request found this offering without capacity",
            until=until,
        )
    return None


def _provisioning(seen: RequestObservation, now: datetime) -> Step:
    status = seen.status
    node = seen.node
    if seen.deleting:
        return _give_up(CANCELLED, "The request was deleted before its node was Ready")
    if seen.server is ServerSeen.BROKEN:
        why = f": {seen.server_problem}" if seen.server_problem else ""
        return _give_up(SERVER_BROKEN, shortened(f"The provider says that the server will not run{why}"))
    if _is_gone(seen, now) and not (node is not None and node.ready):
        return _give_up("ServerGone", "The provider says that the server does not exist")
    if node is not None:
        # Before it counts as Ready: the startup taint gives way to that of the reservation, so no other pod slips in.
        if status.registered_at is None or node.unregistered:
            return _register(node)
        if status.released_at is not None and node.reserved:
            return _lift()
        if seen.untolerated and status.released_at is None:
            return _tolerate(seen)
        if node.ready:
            return Act(
                effect=RequestEffect.MARK_READY,
                reason="Ready",
                message=f"Node {node.name} is Ready",
                until=now + RELEASE_AFTER_READY,
            )
    elif status.registered_at is not None and seen.server is not ServerSeen.UNKNOWN:
        # It was there and somebody deleted it: a kubelet does not join twice, and the pods shall not wait for it.
        return _without_node(seen, now)
    if status.running_at is None and (seen.server is ServerSeen.RUNNING or node is not None):
        return Act(
            effect=RequestEffect.MARK_RUNNING,
            reason="Running",
            message="The server runs; its node shall join",
            until=now + seen.timings.join_timeout,
        )
    if status.running_at is None:
        return _await_boot(seen, now)
    return _await_node(seen, now)


def _await_boot(seen: RequestObservation, now: datetime) -> Step:
    deadline = seen.status.provisioning_deadline
    message = "The server boots; if it does not run in time it is removed"
    if deadline is not None and now >= deadline and _may_progress(seen, deadline, now):
        deadline += (TIMEOUTS_WHILE_IT_PROGRESSES - 1) * seen.timings.provisioning_timeout
        message = "The server is late, but its provider still works on it; if it does not run by then it is removed"
    if deadline is None or now >= deadline:
        return _give_up(PROVISIONING_TIMEOUT, "The server did not run in time")
    return Wait(
        reason="ServerBoot",
        message=message,
        until=deadline,
        look_every=_look_every(seen.status.create_attempt_at, seen, now),
    )


def _may_progress(seen: RequestObservation, deadline: datetime, now: datetime) -> bool:
    """Return whether the provider works on a server that is late, as far as is known.

    While the provider is silent, one that outlived its deadline by more than a look was seen to progress since:
    a moment without an answer must not delete it.
    """
    if seen.server is ServerSeen.UNKNOWN:
        return now >= deadline + LONGEST_LOOK
    return seen.server is ServerSeen.CREATING and seen.server_progresses


def _await_node(seen: RequestObservation, now: datetime) -> Step:
    status = seen.status
    deadline = status.join_deadline or now
    if now >= deadline:
        if seen.node is not None and seen.bound:
            return Act(
                effect=RequestEffect.MARK_READY,
                reason="PodsBound",
                message=f"Node {seen.node.name} is not Ready in time, but {seen.bound} pods are bound to it: it stays",
                until=now + RELEASE_AFTER_READY,
            )
        return _give_up(JOIN_TIMEOUT, _and_namesake("The node was not Ready in time", seen))
    if seen.node is not None and status.registered_at is not None and status.released_at is None:
        release_at = status.registered_at + RELEASE_UNREADY_AFTER
        if now >= release_at:
            return _release("NotReady", "The node is registered and not Ready: its pods may go elsewhere")
        deadline = min(deadline, release_at)
    return Wait(
        reason="NodeReady",
        message=_and_namesake("The node shall become Ready; if it does not in time the server is removed", seen),
        until=deadline,
        look_every=_look_every(status.running_at, seen, now),
    )


def _and_namesake(message: str, seen: RequestObservation) -> str:
    return shortened(f"{message}. {seen.namesake}") if seen.namesake else message


def _ready(seen: RequestObservation, now: datetime) -> Step:
    node = seen.node
    if node is None:
        return _without_node(seen, now)
    if _is_gone(seen, now):
        # Two witnesses condemn a machine. While its Node is Ready the provider may be the one that errs.
        if not node.ready:
            return _give_up("ServerGone", "The server no longer exists and its Node is not Ready")
        return _finish("ServerGone", "The provider says that the server no longer exists; its Node is Ready")
    if node.unregistered:
        return _register(node)
    if seen.status.released_at is None:
        return _reserved(seen, now)
    if node.reserved:
        return _lift()
    if seen.deleting:
        return _finish(DELETED, "The record was deleted; the machine stays")
    expires_at = seen.status.expires_at
    if expires_at is None or now >= expires_at:
        return _finish("Expired", "The record has been kept long enough")
    return Wait(
        reason="Record",
        message="The machine is Ready; this record goes at the deadline, the machine stays",
        until=expires_at,
        look_every=LOOK_AT_RECORD_EVERY,
    )


def _without_node(seen: RequestObservation, now: datetime) -> Step:
    if _is_gone(seen, now):
        return _finish("ServerGone", "Server and Node no longer exist")
    if seen.server in {ServerSeen.UNKNOWN, ServerSeen.ABSENT}:
        # Ending here could leave a server that nobody knows of; a hand-over could only wait as well.
        return Wait(
            reason="ServerAnswer",
            message="The Node is gone; once it is certain whether its server exists, the server goes too",
            until=None,
            look_every=LOOK_EVERY,
        )
    return _give_up("NodeGone", "The Node was deleted while its server exists")


def _reserved(seen: RequestObservation, now: datetime) -> Step:
    release_by = seen.status.release_by
    if seen.deleting:
        return _release(DELETED, "The request was deleted: the machine stays as plain capacity")
    if not seen.awaited:
        return _settled(seen, now)
    if release_by is None or now >= release_by:
        return _release("ReleaseTimeout", f"{seen.awaited} planned pods have not come")
    if seen.untolerated:
        return _tolerate(seen)
    return Wait(
        reason="PodsBind",
        message=f"{seen.awaited} of {seen.seats} planned pods are not bound; then the node opens for all",
        until=release_by,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def _settled(seen: RequestObservation, now: datetime) -> Step:
    """Return the step of a machine whose own pods are there.

    Opened now, it would take pods that were planned onto a machine still on its way, whose place
    there stays empty: measured, 2 of 28 pods.
    """
    release_by = seen.status.release_by
    if not seen.unsettled or not seen.seats:
        return _release("PodsBound", "No planned pod is waiting any more")
    if release_by is None or now >= release_by:
        return _release("PodsBound", "Its own pods are there; those of other machines have had their time")
    if seen.status.settled_at is None:
        return Act(
            effect=RequestEffect.MARK_SETTLED,
            reason="Settled",
            message=f"All planned pods are bound; {seen.unsettled} other machines wait for theirs",
        )
    return Wait(
        reason="OthersSettle",
        message=f"Kept until the pods of {seen.unsettled} other machines are bound; then the node opens for all",
        until=release_by,
        look_every=shared(LOOK_EVERY, seen.others),
    )


def _parked(seen: RequestObservation, now: datetime) -> Step:
    status = seen.status
    if seen.deleting:
        return _finish(DELETED, "The record was deleted; there is no server")
    if status.expires_at is None or now >= status.expires_at:
        return _finish("Expired", "The offering may be tried again")
    return Wait(
        reason=status.phase.value,
        message=shortened(
            f"At the deadline this record goes and the choice is open again. {status.message or status.reason}"
        ),
        until=status.expires_at,
        look_every=LOOK_AT_RECORD_EVERY,
    )


def _look_every(since: datetime | None, seen: RequestObservation, now: datetime) -> timedelta:
    waited = timedelta() if since is None else now - since
    return shared(min(LONGEST_LOOK, max(LOOK_EVERY, waited / PATIENCE)), seen.others)


def _is_gone(seen: RequestObservation, now: datetime) -> bool:
    if seen.server is ServerSeen.FOREIGN:
        # Names are unique at the provider, so this request's server cannot exist beside it.
        return True
    asked = seen.status.create_attempt_at
    return seen.server is ServerSeen.ABSENT and (asked is None or now >= asked + BELIEVE_ABSENCE_AFTER)


def _register(node: NodeSeen) -> Act:
    return Act(
        effect=RequestEffect.REGISTER_NODE,
        reason="Registered",
        message=f"Node {node.name} joined: label it and keep it for its pods",
    )


def _tolerate(seen: RequestObservation) -> Act:
    return Act(
        effect=RequestEffect.TOLERATE_PODS,
        reason="Reserved",
        message=f"Let {seen.untolerated} planned pods onto the node",
    )


def _give_up(reason: str, message: str) -> Act:
    return Act(effect=RequestEffect.GIVE_UP, reason=reason, message=message)


def _release(reason: str, message: str) -> Act:
    return Act(effect=RequestEffect.RELEASE_NODE, reason=reason, message=message)


def _lift() -> Act:
    return _release("Released", "The reservation ended, but its taint is still there: lift it")


def _finish(reason: str, message: str) -> Act:
    return Act(effect=RequestEffect.FINISH, reason=reason, message=message)
