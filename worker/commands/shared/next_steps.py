"""What each lifecycle does next or waits for, in words, and what a person may do about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.step import Act, DecisionKind, Done, Step, Wait
from planner.supply.unavailable import pause_in_force
from worker.commands.shared.cluster_view import ClusterView

_OPEN: Final = frozenset({RequestPhase.PENDING, RequestPhase.PROVISIONING, RequestPhase.READY})


@dataclass(frozen=True, slots=True)
class Awaited:
    """What is awaited, and what a person may do about it."""

    kind: str
    """request, removal, offering or class."""
    name: str
    what: str
    until: datetime | None
    commands: tuple[str, ...] = ()
    """With NAME for the name."""


def step_of(subject: NodeRequest | NodeRemovalRequest, sight: ClusterView) -> Step:
    """Return the next step of a request or a removal."""
    return sight.steps[subject.metadata.uid]


def sentence(step: Step) -> str:
    """Return what is awaited, or what is done now."""
    match step:
        case Wait(message=message):
            return message
        case Act(message=message, reason=reason):
            return f"Due now: {message or reason}"
        case Done(message=message):
            return message


def deadline(step: Step) -> datetime | None:
    """Return until when it waits, None if it does not or waits for a message alone."""
    return step.until if isinstance(step, Wait) else None


def request_commands(request: NodeRequest) -> tuple[str, ...]:
    """Return what a person may do about a request, with NAME for its name."""
    open_ = request.status.phase in {RequestPhase.PENDING, RequestPhase.PROVISIONING}
    return ("growth requests cancel NAME",) if open_ and request.metadata.deletion_timestamp is None else ()


def removal_decisions(removal: NodeRemovalRequest) -> tuple[DecisionKind, ...]:
    """Return the decisions that have an effect on a removal now."""
    status = removal.status
    if status.phase is RemovalPhase.COULD_NOT_REMOVE:
        return (DecisionKind.RETRY, DecisionKind.SKIP, DecisionKind.ABANDON)
    cancellable = status.phase.is_reversible and status.cancel is None and not removal.spec.immediate
    return (DecisionKind.CANCEL,) if cancellable else ()


def removal_commands(removal: NodeRemovalRequest) -> tuple[str, ...]:
    """Return what a person may do about a removal, with NAME for its name."""
    return tuple(f"growth removals {decision} NAME" for decision in removal_decisions(removal))


def awaited(sight: ClusterView) -> Iterator[Awaited]:
    """Yield everything that is awaited; records of machines that are there are not."""
    for request in sight.snapshot.requests:
        step = step_of(request, sight)
        if step.reason != "Record":
            yield Awaited("request", request.metadata.name, sentence(step), deadline(step), request_commands(request))
    for removal in sight.snapshot.removals:
        step = step_of(removal, sight)
        yield Awaited("removal", removal.metadata.name, sentence(step), deadline(step), removal_commands(removal))
    for node_class in sight.snapshot.classes:
        pause = pause_in_force(node_class.status.pause, sight.snapshot.now)
        if pause is not None:
            what = f"{node_class.ref}: refused more machines, {pause.failures} in a row: {pause.message}; buys nothing"
            yield Awaited("class", node_class.ref.name, what, pause.until)
        for entry in node_class.status.unavailable:
            if sight.snapshot.now < entry.until:
                what = f"{node_class.ref}: no capacity, {entry.failures} in a row; left out until then"
                yield Awaited("offering", f"{entry.server_type} {entry.location}", what, entry.until)
