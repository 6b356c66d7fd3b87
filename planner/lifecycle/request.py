"""The next step of a NodeRequest: from the wish to a Ready node, or to its hand-over.

Pure: everything that was seen comes in, `now` is an argument. Each branch is one row of the table
in `tests/planner/lifecycle/test_request.py`.
"""

from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.arrival.effect import (
    CANCELLED,
    CONSEQUENCES,
    DELETED,
    RequestEffect,
    finish,
    give_up,
    lift,
    register,
    release,
    tolerate,
)
from planner.lifecycle.arrival.reservation import LOOK_EVERY, RELEASE_AFTER_READY, STARTUP, reserved
from planner.lifecycle.clocks.deadlines import named_deadline, told_late, with_consequence
from planner.lifecycle.seen import NodeSeen, RequestObservation, ServerSeen
from planner.lifecycle.step import Act, Done, Step, Wait, shared, shortened

BELIEVE_ABSENCE_AFTER: Final = timedelta(seconds=60)
"""A create call of unknown outcome may still make its server appear; clouds answer within this."""
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
UNNEEDED: Final = "Unneeded"
"""Reason of the end of a request that was to replace a machine which stays."""
BY_DELETION: Final = frozenset({CANCELLED, DELETED})
"""Reasons of steps that the deletion of the request asks for."""
PROVISIONING_TIMEOUT: Final = "ProvisioningTimeout"
JOIN_TIMEOUT: Final = "JoinTimeout"
STARTUP_TIMEOUT: Final = "StartupTimeout"
"""Reason of a release: the Node is Ready and never had all that its planned pods need."""
TIMEOUTS: Final = frozenset({PROVISIONING_TIMEOUT, JOIN_TIMEOUT})
"""Reasons to give up that a Ready Node or a bound pod overrules. Source: docs/design.md#hand-over."""


SERVER_BROKEN: Final = "ServerBroken"
USELESS: Final = TIMEOUTS | {SERVER_BROKEN, STARTUP_TIMEOUT}
"""Reasons to give up or to release that speak against buying the same offering again at once."""
QUOTA_EXCEEDED: Final = "QuotaExceeded"
BUYING_PAUSED: Final = "BuyingPaused"
OF_THE_ACCOUNT: Final = frozenset({QUOTA_EXCEEDED, BUYING_PAUSED})
"""Reasons of an Unmet request that speak against its account and not against its offering."""
REAL_CLUSTER: Final = "RealCluster"
"""Reason why nothing of a class is bought: its machines are simulated, and there are real Nodes."""


def next_step(seen: RequestObservation, now: datetime) -> Step:
    """Return the next step of this request."""
    step = with_consequence(decide(seen, now), lambda at: decide(seen, at), CONSEQUENCES)
    was_away = named_deadline(seen.status) != seen.named_deadline
    why = "Growth or the API server was away, and nobody could see it" if was_away else ""
    return told_late(step, seen, now, RequestEffect.TELL_DELAY, why)


def decide(seen: RequestObservation, now: datetime) -> Step:
    """Return the next step as `next_step` does, without words on deadlines."""
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
            return give_up(CANCELLED, "The request was deleted while its server may exist")
        return finish(CANCELLED, "Deleted before a server was asked for")
    if seen.unneeded and not asked:
        return finish(UNNEEDED, "What it was to replace stays, and no pod waits for it: no server was asked for")
    left_out = None if asked else _left_out(seen, now)
    if left_out is not None:
        return left_out
    deadline = status.provisioning_deadline or now + seen.timings.provisioning_timeout
    if asked and now >= deadline:
        return give_up(PROVISIONING_TIMEOUT, "No create call was answered in time; the server may exist")
    return Act(
        effect=RequestEffect.CREATE_SERVER,
        reason="CreateServer",
        message="Ask the provider for the server",
        until=deadline,
    )


def _left_out(seen: RequestObservation, now: datetime) -> Act | None:
    """Return the end without a call of a request whose machine cannot be had now.

    Its class is not used on this cluster, or another request found out.
    """
    if seen.class_barrier:
        return Act(
            effect=RequestEffect.MARK_UNMET,
            reason=REAL_CLUSTER,
            message=shortened(seen.class_barrier),
            until=now + seen.timings.unavailable_ttl,
        )
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
    if seen.deleting and not (node is not None and node.ready and seen.bound):
        return give_up(CANCELLED, "The request was deleted before its node was Ready")
    if seen.server is ServerSeen.BROKEN:
        why = f": {seen.server_problem}" if seen.server_problem else ""
        return give_up(SERVER_BROKEN, shortened(f"The provider says that the server will not run{why}"))
    if _is_gone(seen, now) and not (node is not None and node.ready):
        return give_up("ServerGone", "The provider says that the server does not exist")
    if node is not None:
        # Before it counts as Ready: the startup taint gives way to that of the reservation, so no other pod slips in.
        if status.registered_at is None or node.unregistered:
            return register(node)
        if status.released_at is not None and node.reserved:
            return lift()
        if seen.untolerated and status.released_at is None:
            return tolerate(seen)
        if node.ready and (opened := _why_open(seen, node, now)):
            return Act(
                effect=RequestEffect.MARK_READY,
                reason="Ready",
                message=opened,
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


def _why_open(seen: RequestObservation, node: NodeSeen, now: datetime) -> str:
    """Return why a Ready Node need not wait for what is missing on it; an empty text if it must."""
    if not node.missing:
        return f"Node {node.name} is Ready"
    if seen.deleting:
        return f"Node {node.name} is Ready and has pods: it stays, as the request goes"
    if seen.seats and not seen.awaited:
        return f"Node {node.name} is Ready, and all planned pods are there"
    status = seen.status
    if status.released_at is not None and status.join_deadline is not None and now >= status.join_deadline:
        return shortened(f"Node {node.name} is Ready, for others than its planned pods. {node.missing}")
    return ""


def _await_boot(seen: RequestObservation, now: datetime) -> Step:
    deadline = seen.status.provisioning_deadline
    message = "The server boots"
    if deadline is not None and now >= deadline and _may_progress(seen, deadline, now):
        deadline += (TIMEOUTS_WHILE_IT_PROGRESSES - 1) * seen.timings.provisioning_timeout
        message = "The server is late, but its provider still works on it"
    if deadline is None or now >= deadline:
        return give_up(PROVISIONING_TIMEOUT, "The server did not run in time")
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
    node = seen.node
    deadline = seen.status.join_deadline or now
    is_over = now >= deadline
    if is_over and node is not None and node.ready:
        text = f"The node is Ready, but in time its planned pods could not land: {node.missing}; it stays for others"
        return release(STARTUP_TIMEOUT, shortened(text))
    if is_over and node is not None and seen.bound:
        return Act(
            effect=RequestEffect.MARK_READY,
            reason="PodsBound",
            message=f"Node {node.name} is not Ready in time, but {seen.bound} pods are bound to it: it stays",
            until=now + RELEASE_AFTER_READY,
        )
    if is_over:
        return give_up(JOIN_TIMEOUT, _and_missing("The node was not Ready in time", seen))
    if node is not None and node.ready:
        text = f"The node is Ready and its planned pods cannot land yet: {node.missing}"
        return _await_startup(STARTUP, shortened(text), deadline, seen, now)
    text = "Waits for its node to become Ready"
    return _await_startup("NodeReady", _and_missing(text, seen), deadline, seen, now)


def _await_startup(reason: str, message: str, deadline: datetime, seen: RequestObservation, now: datetime) -> Wait:
    return Wait(
        reason=reason, message=message, until=deadline, look_every=_look_every(seen.status.running_at, seen, now)
    )


def _and_missing(message: str, seen: RequestObservation) -> str:
    """Return the message, with what is known of why the Node is not there, or cannot take pods."""
    known = seen.namesake or ("" if seen.node is None else seen.node.missing)
    return shortened(f"{message}. {known}") if known else message


def _ready(seen: RequestObservation, now: datetime) -> Step:
    node = seen.node
    if node is None:
        return _without_node(seen, now)
    if _is_gone(seen, now):
        # Two witnesses condemn a machine. While its Node is Ready the provider may be the one that errs.
        if not node.ready:
            return give_up("ServerGone", "The server no longer exists and its Node is not Ready")
        return finish("ServerGone", "The provider says that the server no longer exists; its Node is Ready")
    if node.unregistered:
        return register(node)
    if seen.status.released_at is None:
        return reserved(seen, now)
    if node.reserved:
        return lift()
    if seen.deleting:
        return finish(DELETED, "The record was deleted; the machine stays")
    expires_at = _record_until(seen, now)
    if now >= expires_at:
        return finish("Expired", "The machine stays")
    return Wait(
        reason="Record",
        message="The machine is Ready, and only its record is left",
        until=expires_at,
        look_every=LOOK_AT_RECORD_EVERY,
        is_rest=True,
    )


def _record_until(seen: RequestObservation, now: datetime) -> datetime:
    """Return when the record of a Ready machine may go.

    Of several create calls one may still be under way: if the server goes meanwhile, another of its name appears.
    """
    status = seen.status
    expires_at = status.expires_at or now
    if status.attempts <= 1 or status.create_attempt_at is None:
        return expires_at
    return max(expires_at, status.create_attempt_at + BELIEVE_ABSENCE_AFTER)


def _without_node(seen: RequestObservation, now: datetime) -> Step:
    if _is_gone(seen, now):
        return finish("ServerGone", "Server and Node no longer exist")
    if seen.server in {ServerSeen.UNKNOWN, ServerSeen.ABSENT}:
        # Ending here could leave a server that nobody knows of; a hand-over could only wait as well.
        return Wait(
            reason="ServerAnswer",
            message="The Node is gone; once it is certain whether its server exists, the server goes too. "
            f"The provider is asked again every {format_duration(LOOK_EVERY)}",
            until=None,
            look_every=LOOK_EVERY,
        )
    return give_up("NodeGone", "The Node was deleted while its server exists")


def _parked(seen: RequestObservation, now: datetime) -> Step:
    status = seen.status
    if seen.deleting:
        return finish(DELETED, "The record was deleted; there is no server")
    if status.expires_at is None or now >= status.expires_at:
        return finish("Expired", "The offering may be tried again")
    return Wait(
        reason=status.phase.value,
        message=shortened(f"No machine came: {status.message or status.reason}"),
        until=status.expires_at,
        look_every=LOOK_AT_RECORD_EVERY,
        is_rest=True,
    )


def _look_every(since: datetime | None, seen: RequestObservation, now: datetime) -> timedelta:
    waited = timedelta() if since is None else now - since
    return shared(min(LONGEST_LOOK, max(LOOK_EVERY, waited / PATIENCE)), seen.others)


def _is_gone(seen: RequestObservation, now: datetime) -> bool:
    if seen.server is not ServerSeen.ABSENT:
        # Names are unique at the provider, so this request's server cannot exist beside a foreign one.
        return seen.server is ServerSeen.FOREIGN
    asked = seen.status.create_attempt_at
    return asked is None or now >= asked + BELIEVE_ABSENCE_AFTER
