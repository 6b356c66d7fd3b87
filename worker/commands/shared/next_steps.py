"""The next step of each object with a lifecycle: in words, and what a person may do about it.

Steps come of the lifecycles' own looks and step functions. The provider is not asked, as these commands only read the
cluster: its answer counts as not known.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from activities.objects.kinds import REMOVALS, REQUESTS, StoredKind
from activities.ports.cluster import Object
from activities.ports.errors import GrowthError, NotFound, Unreadable
from activities.ports.ports import Ports
from activities.removals.look import look_at_removal
from activities.requests.look import look_at_request
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.step import Act, DecisionKind, Done, Step, Wait, shortened
from planner.supply.unavailable import pause_in_force
from worker.commands.shared.cluster_view import ClusterView, NextStep
from worker.commands.shared.read_once import ReadOnce

_GONE: Final = "Gone"
_RECORD: Final = "Record"
"""Reason of the wait of a request whose machine is there: nothing is awaited but the end of the record."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """What is awaited, and what a person may do about it."""

    kind: str
    """request, removal, offering or class."""
    name: str
    message: str
    until: datetime | None
    commands: tuple[str, ...] = ()
    """With NAME for the name."""


def step_of(subject: NodeRequest | NodeRemovalRequest, view: ClusterView) -> Step:
    """Return the next step of a request or a removal."""
    return view.steps[subject.metadata.uid].step


def sentence(step: Step) -> str:
    """Return a sentence: what the step waits for, or does now."""
    match step:
        case Wait(message=message):
            return message
        case Act(message=message, reason=reason):
            return f"Due now: {message or reason}"
        case Done(message=message):
            return message


def deadline(step: Step) -> datetime | None:
    """Return the end of the wait, None if it does not or waits for a message alone."""
    return step.until if isinstance(step, Wait) else None


def request_commands(request: NodeRequest) -> tuple[str, ...]:
    """Return the commands that a person may give about a request, with NAME for its name."""
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
    """Return the commands that a person may give about a removal, with NAME for its name."""
    return tuple(f"growth removals {decision} NAME" for decision in removal_decisions(removal))


def no_commands(_subject: Any) -> tuple[str, ...]:
    """Return no command: a person has nothing to ask of objects of the kind."""
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class ShownKind:
    """A lifecycle kind whose objects commands tell of.

    The rows of `activities.registry` have the looks, too, but load the client of Temporal.
    """

    stored: StoredKind[Any]
    look: Callable[[Ports, str, str], Awaitable[Any]]
    commands: Callable[[Any], tuple[str, ...]] = no_commands
    """What a person may do about an object, with NAME for its name."""


SHOWN_KINDS: Final[Sequence[ShownKind]] = (
    ShownKind(REQUESTS, look_at_request, request_commands),
    ShownKind(REMOVALS, look_at_removal, removal_commands),
)
"""Every kind, in the order in which people are told of them."""


async def next_steps(
    ports: Ports, cluster: ReadOnce, kinds: Sequence[ShownKind] = SHOWN_KINDS
) -> Mapping[str, NextStep]:
    """Return the next step by uid of the object; of one that cannot be read further, a wait that says why.

    Args:
        ports: of the command.
        cluster: the same cluster as it was read, so that all steps are of one moment.
        kinds: whose objects are meant. One that cannot be read itself is left out: the snapshot has it as a problem.
    """
    read = replace(ports, cluster=cluster, reader=cluster, providers={})
    steps: dict[str, NextStep] = {}
    for row in kinds:
        for item in await _objects(cluster, row):
            try:
                subject = row.stored.read(item)
            except Unreadable:
                continue
            steps[subject.metadata.uid] = NextStep(
                word=row.stored.lifecycle.word,
                name=subject.metadata.name,
                step=await _step(read, row, subject.metadata.name, subject.metadata.uid),
                is_under_way=row.stored.lifecycle.needs_workflow(item),
                commands=row.commands(subject),
            )
    return steps


async def _objects(cluster: ReadOnce, row: ShownKind) -> list[Object]:
    try:
        return (await cluster.list(row.stored.resource)).items
    except NotFound:
        if row.stored.resource.is_optional:
            return []
        raise


async def _step(ports: Ports, row: ShownKind, name: str, uid: str) -> Step:
    try:
        objects = await row.look(ports, name, uid)
    except GrowthError as error:
        return Wait(reason=error.reason, message=shortened(str(error)), until=None)
    if objects is None:
        # Only an object that is held by other owners' finalizers is listed and yet has no lifecycle any more.
        return Wait(reason=_GONE, message="its lifecycle is over, others' finalizers hold the object", until=None)
    return row.stored.lifecycle.next_step(objects.seen, None, ports.now())


def awaited(view: ClusterView) -> Iterator[Awaited]:
    """Yield everything that is awaited; records of machines that are there are not."""
    for subject in view.steps.values():
        step = subject.step
        if subject.is_under_way and step.reason != _RECORD:
            yield Awaited(subject.word, subject.name, sentence(step), deadline(step), subject.commands)
    for node_class in view.snapshot.classes:
        pause = pause_in_force(node_class.status.pause, view.snapshot.now)
        if pause is not None:
            reason = (
                f"{node_class.ref}: refused more machines, {pause.failures} in a row: {pause.message}; buys nothing"
            )
            yield Awaited("class", node_class.ref.name, reason, pause.until)
        for part in node_class.status.partial_pauses:
            if view.snapshot.now < part.until:
                reason = f"{node_class.ref}: refused {part.limit}, {part.failures} in a row: {part.message}"
                yield Awaited("class", node_class.ref.name, reason, part.until)
        for entry in node_class.status.unavailable:
            if view.snapshot.now < entry.until:
                reason = f"{node_class.ref}: no capacity, {entry.failures} in a row; left out until then"
                yield Awaited("offering", f"{entry.server_type} {entry.location}", reason, entry.until)
