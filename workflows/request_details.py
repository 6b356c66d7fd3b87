"""Details of a request in the Temporal UI: facts about its machine, and the choices that a person has."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from api.meta import shown_time
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RequestObservation, ServerSeen
from planner.lifecycle.step import Act, Done
from workflows.ui_details import Account, Choice

CANCEL: Final = "Request Cancellation"
"""The button of the Temporal UI."""

_CANCELS: Final[Mapping[RequestPhase, str]] = {
    RequestPhase.PENDING: "give the machine up; a server that was asked for is deleted",
    RequestPhase.PROVISIONING: "give the machine up; its server is deleted",
    RequestPhase.READY: "end this record and open the Node for all pods; the machine stays",
    RequestPhase.UNMET: "end this record; an offering without capacity is left out as long as before",
    RequestPhase.FAILED: "end this record, so that the pool may buy again",
}
_WITH_SERVER: Final = frozenset({RequestPhase.PROVISIONING, RequestPhase.READY})


def choices(seen: RequestObservation) -> list[Choice]:
    """Return the choices that would have an effect now."""
    effect = _CANCELS.get(seen.status.phase)
    if effect is None or seen.deleting or seen.crds_going or not seen.exists:
        return []
    return [Choice(CANCEL, effect)]


def how(name: str, possible: Sequence[Choice]) -> str:
    """Return the instructions for the choices, in markdown, or why there are none."""
    if not possible:
        return "Nothing to decide now: it is ending."
    return f"Here: the button above. In a terminal: `growth requests cancel {name}`."


def facts(seen: RequestObservation) -> Iterator[str]:
    """Yield the facts of the observation, a line each."""
    status = seen.status
    if status.phase is RequestPhase.DEPROVISIONING:
        yield f"Why: {status.reason}: {status.message}"
    if status.create_attempt_at is not None:
        yield f"Create calls: {status.attempts}, the last at {shown_time(status.create_attempt_at)}"
    if status.phase is RequestPhase.PENDING and status.message:
        yield f"Last answer: {status.message}"
    if status.phase not in _WITH_SERVER:
        return
    yield f"Server: {_SERVER[seen.server]}"
    yield f"Node: {_node(seen)}"
    if seen.seats and status.released_at is None:
        yield f"Planned pods: {seen.seats}, of which {seen.awaited} not bound yet"


def ending(name: str, act: Act, before: RequestObservation) -> Done | None:
    """Return the ending of the request if `act` was its last step."""
    status = before.status
    match act.effect:
        case RequestEffect.HAND_OVER:
            why = f"{status.message}; " if status.message else ""
            return Done(reason=act.reason, message=f"{why}removal {name} deletes the server")
        case RequestEffect.FINISH if act.reason == "Expired" and status.phase is RequestPhase.READY:
            return Done(reason=RequestPhase.READY, message="the machine came and stays; only its record ends")
        case RequestEffect.FINISH if act.reason == "Expired":
            why = f"{status.message}; no machine came" if status.message else "no machine came"
            return Done(reason=status.reason or status.phase, message=why)
        case RequestEffect.FINISH | RequestEffect.FORGET:
            return Done(reason=act.reason, message=act.message)
        case _:
            return None


_SERVER: Final[Mapping[ServerSeen, str]] = {
    ServerSeen.UNKNOWN: "the provider gave no answer",
    ServerSeen.ABSENT: "the provider does not show it",
    ServerSeen.FOREIGN: "another's server has this name",
    ServerSeen.CREATING: "created, boots",
    ServerSeen.RUNNING: "runs",
    ServerSeen.BROKEN: "broken, says the provider",
    ServerSeen.DELETING: "is being deleted",
}


def _node(seen: RequestObservation) -> str:
    node = seen.node
    if node is None:
        return "has not joined" if seen.status.registered_at is None else "gone"
    purpose = ", kept for its planned pods" if node.reserved else ""
    return f"{'Ready' if node.ready else 'joined, not Ready yet'}{purpose}"


ACCOUNT: Final = Account(facts=facts, choices=choices, how=lambda name, _seen, found: how(name, found), ending=ending)
