"""Details of a removal in the Temporal UI: facts about its machine, and the decisions that a person can take."""

from collections.abc import Iterator, Mapping
from typing import Final

from api.meta import shown_time
from api.v1alpha1.node_removal_request import CancelRecord, RemovalPhase
from planner.lifecycle.clocks.drain_limits import hard_deadline
from planner.lifecycle.decision import refusal
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import DrainLimit, RemovalObservation, ReplacementSeen, ServerSeen
from planner.lifecycle.step import Act, DecisionKind, Done
from workflows.ui_details import Account, Choice

EFFECTS: Final[Mapping[DecisionKind, str]] = {
    DecisionKind.CANCEL: "keep the machine; its Node takes pods again, and if it stays empty it cools off again later",
    DecisionKind.RETRY: "have the server deleted again, with all its delete calls anew",
    DecisionKind.SKIP: "treat the server as gone and delete its Node; a server that does exist goes on costing money",
    DecisionKind.ABANDON: "leave the server to its people; its Node takes pods again, and Growth spares both",
}
"""The effect of each decision."""
DONE: Final[Mapping[DecisionKind, str]] = {
    DecisionKind.CANCEL: "cancelled; the machine stays",
    DecisionKind.RETRY: "tried again; its delete calls begin anew",
    DecisionKind.SKIP: "skipped; its server counts as gone, and its Node is deleted",
    DecisionKind.ABANDON: "abandoned; its server is left to its people, and its Node takes pods again",
}
"""The answer to a decision that was carried out."""

_ENDS: Final = frozenset({RemovalEffect.FINISH, RemovalEffect.FORGET, RemovalEffect.SKIP, RemovalEffect.ABANDON})


def description(kind: DecisionKind) -> str:
    """Return the Temporal UI's description of the update and the signal of this name."""
    when = "Until the point of no return" if kind is DecisionKind.CANCEL else "While it is parked"
    return f"{when}: {EFFECTS[kind]}."


def choices(seen: RemovalObservation) -> list[Choice]:
    """Return the decisions that would have an effect now."""
    if seen.status.cancel is not None or seen.crds_going:
        return []
    return [Choice(kind, EFFECTS[kind]) for kind in DecisionKind if refusal(seen, kind) is None]


def how(name: str, seen: RemovalObservation) -> str:
    """Return the instructions for the decisions, in markdown, or why there are none."""
    possible = choices(seen)
    if not possible:
        why = refusal(seen, DecisionKind.CANCEL) or "it is cancelled already"
        return f"Nothing to decide now: {why}."
    return (
        "Here: More Actions, **Send an Update**, that word as its name; leave Data empty, or say who and why: "
        '`{"by": "your name", "reason": "why"}`. '
        f"In a terminal: `growth removals {possible[0].name} {name}`."
    )


def facts(seen: RemovalObservation) -> Iterator[str]:
    """Yield the facts of the observation, a line each."""
    status = seen.status
    if status.phase is RemovalPhase.COULD_NOT_REMOVE:
        yield f"Why: {status.message or status.reason}"
    if status.cancel is not None:
        yield f"Cancelled at {shown_time(status.cancel.at)} {_by(status.cancel)}"
    if not status.phase.is_reversible:
        yield f"Server: {_SERVER[seen.server]}"
    if status.remove_attempted_at is not None:
        calls = f"{status.removal_attempts} of {seen.timings.max_attempts}"
        yield f"Delete calls: {calls}, the last at {shown_time(status.remove_attempted_at)}"
    if seen.replacement is not None and status.phase.is_reversible:
        yield f"Replaced by {_replacement(seen.replacement)}"
    if seen.ahead:
        yield f"First of its step: {seen.ahead}"
    yield f"Node: {_node(seen)}"
    if status.phase is RemovalPhase.DRAINING and status.drain_started_at is not None:
        end, forced_by = hard_deadline(seen), seen.drain.deadline
        then = "" if end is None else f"; from {shown_time(end)} on pods are deleted whatever keeps them"
        if forced_by is not None:
            then = f"; by {shown_time(forced_by)} pods have been deleted, whatever keeps them"
        if seen.drain.limit is DrainLimit.GIVEN_UP and seen.drain.limit_at is not None:
            then += f"; given up at {shown_time(seen.drain.limit_at)}"
        yield f"Drained since {shown_time(status.drain_started_at)}{then}"
    if status.phase is RemovalPhase.PENDING and (deleted_from := hard_deadline(seen)) is not None:
        yield f"Pods end by themselves; from {shown_time(deleted_from)} on those that are left are deleted"
    if status.phase.is_reversible and seen.node is not None and not seen.immediate:
        yield f"Pods on it or on their way to it: {_occupants(seen)}"


def ending(act: Act, before: RemovalObservation) -> Done | None:
    """Return the ending of the removal if `act` was its last step."""
    if act.effect not in _ENDS:
        return None
    cancel = before.status.cancel
    message = act.message
    if cancel is not None and act.effect == RemovalEffect.FINISH:
        message = f"{_by(cancel)}; the machine stays"
    elif act.by:
        message = f"by {act.by}: {act.message}"
    return Done(reason=act.reason, message=message)


_SERVER: Final[Mapping[ServerSeen, str]] = {
    ServerSeen.UNKNOWN: "the provider gave no answer",
    ServerSeen.ABSENT: "the provider says that it does not exist",
    ServerSeen.FOREIGN: "another's server has this name",
    ServerSeen.CREATING: "exists, boots",
    ServerSeen.RUNNING: "exists, runs",
    ServerSeen.BROKEN: "exists, broken",
    ServerSeen.DELETING: "is being deleted",
}


def _by(cancel: CancelRecord) -> str:
    return f"by {cancel.by}: {cancel.reason or 'without a reason'}"


def _node(seen: RemovalObservation) -> str:
    node = seen.node
    if node is None:
        return "there is none"
    if node.foreign:
        return f"{node.name} is not this machine's"
    closed = ", takes no new pods" if node.scale_down else ""
    return f"{node.name}, {'Ready' if node.ready else 'not Ready'}{closed}"


def _replacement(replacement: ReplacementSeen) -> str:
    awaited = {text.split(" ", 1)[0]: text for text in replacement.awaited}
    return ", ".join(awaited.get(name, f"{name} (Ready)") for name in replacement.names)


def _occupants(seen: RemovalObservation) -> str:
    if not seen.occupant_count:
        return "none"
    rest = seen.occupant_count - len(seen.occupants)
    return ", ".join(seen.occupants) + (f" and {rest} more" if rest > 0 else "")


ACCOUNT: Final = Account(
    facts=facts,
    choices=choices,
    how=lambda name, seen, _found: how(name, seen),
    ending=lambda _name, act, before: ending(act, before),
)
