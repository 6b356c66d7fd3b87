"""What each lifecycle does next or waits for: the words of its own step function, from what the cluster shows.

The provider is not asked, as these commands only look at the cluster: its answer counts as not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.objects.belongings import removal_timings, request_timings
from activities.objects.nodes import is_of, request_of, see_node
from activities.ports.cluster import Object
from activities.removals.look import may_drain
from api.keys import LABEL_REQUEST_UID
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle import removal as removals
from planner.lifecycle import request as requests
from planner.lifecycle.decision import decision_on
from planner.lifecycle.drain import SYSTEM_CRITICAL_FROM, Occupant, see_drain
from planner.lifecycle.seen import Blocker, DrainSeen, NodeSeen, RemovalSeen, RequestSeen
from planner.lifecycle.step import Act, DecisionKind, Done, Step, Wait
from planner.objects.kinds import Pod
from planner.supply.unavailable import pause_in_force, unavailable_until
from worker.commands.shared.snapshot import Sight

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


def request_step(request: NodeRequest, sight: Sight) -> Step:
    """Return the next step of a request."""
    name, uid = request.metadata.name, request.metadata.uid
    status, spec = request.status, request.spec
    raw = sight.nodes.get(name)
    node = None
    if raw is not None and is_of(raw, request_uid=uid or None, provider_id=status.provider_id):
        node = see_node(raw, name)
    pods = {pod.uid: pod for pod in sight.snapshot.pods}
    seated = [pods.get(seat.uid) for seat in spec.reserved_for]
    now = sight.snapshot.now
    found = next((c.status for c in sight.snapshot.classes if c.ref == spec.class_ref), None)
    place = (spec.server_type, spec.location)
    pause = None if found is None else pause_in_force(found.pause, now)
    seen = RequestSeen(
        deleting=request.metadata.deletion_timestamp is not None,
        pool=spec.pool,
        status=status.model_copy(update={"events": ()}),
        node=node,
        seats=len(seated),
        awaited=sum(pod is None or not _is_served(pod) for pod in seated),
        bound=len(_occupants(sight, name)),
        unsettled=sum(_awaits_pods(other, request) for other in sight.snapshot.requests),
        offering_unavailable_until=None if found is None else unavailable_until(found.unavailable, *place, now),
        buying_paused_until=None if pause is None else pause.until,
        pause_message="" if pause is None else pause.message,
        timings=request_timings(sight.pool(spec.pool)),
    )
    return requests.next_step(seen, now)


def removal_step(removal: NodeRemovalRequest, sight: Sight) -> Step:
    """Return the next step of a removal."""
    spec = removal.spec
    raw = sight.nodes.get(spec.node_name or spec.server_name) or sight.nodes.get(spec.server_name)
    node = None if raw is None else _node_of_removal(raw, removal)
    pool = sight.pool(spec.pool)
    occupants = () if node is None else (*_occupants(sight, node.name), *_awaited(sight, node.name))
    seen = RemovalSeen(
        deleting=removal.metadata.deletion_timestamp is not None,
        pool=spec.pool,
        immediate=spec.immediate,
        create_attempt_at=spec.create_attempt_at,
        status=removal.status.model_copy(update={"events": ()}),
        decision=decision_on(removal.metadata.annotations),
        node=node,
        occupants=tuple(pod.key for pod in occupants[:5]),
        occupant_count=len(occupants),
        may_drain=may_drain(pool, removal),
        drain=_drain(removal, sight, node),
        timings=removal_timings(pool),
    )
    return removals.next_step(seen, None, sight.snapshot.now)


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


def awaited(sight: Sight) -> Iterator[Awaited]:
    """Yield everything that is awaited; records of machines that are there are not."""
    for request in sight.snapshot.requests:
        step = request_step(request, sight)
        if step.reason != "Record":
            yield Awaited("request", request.metadata.name, sentence(step), deadline(step), request_commands(request))
    for removal in sight.snapshot.removals:
        step = removal_step(removal, sight)
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


def _awaits_pods(other: NodeRequest, request: NodeRequest) -> bool:
    status = other.status
    return (
        other.metadata.uid != request.metadata.uid
        and other.spec.pool == request.spec.pool
        and bool(other.spec.reserved_for)
        and other.metadata.deletion_timestamp is None
        and status.phase in _OPEN
        and status.settled_at is None
        and status.released_at is None
    )


def _node_of_removal(raw: Object, removal: NodeRemovalRequest) -> NodeSeen:
    spec = removal.spec
    uid = removal.metadata.labels.get(LABEL_REQUEST_UID)
    is_its = is_of(raw, request_uid=uid, provider_id=spec.provider_id) and (
        uid is not None or request_of(raw) == spec.server_name
    )
    return see_node(raw, spec.server_name).model_copy(update={"foreign": not is_its})


def _occupants(sight: Sight, node: str) -> list[Pod]:
    return [
        pod
        for pod in sight.snapshot.pods
        if pod.node_name == node and not pod.is_finished and not (pod.is_daemon or pod.is_mirror)
    ]


def _awaited(sight: Sight, node: str) -> list[Pod]:
    return [pod for pod in sight.snapshot.pods if pod.nominated_node == node and not (pod.is_daemon or pod.is_mirror)]


def _drain(removal: NodeRemovalRequest, sight: Sight, node: NodeSeen | None) -> DrainSeen:
    """Return how far a drain is; what blocks it as its removal tells, as pods are not looked at so closely here."""
    status = removal.status
    pods = [] if node is None else _occupants(sight, node.name)
    seen = see_drain(
        [Occupant(pod.key, pod.priority >= SYSTEM_CRITICAL_FROM, is_terminating=pod.is_terminating) for pod in pods],
        status,
    )
    if status.reason not in set(Blocker):
        return seen
    return seen.model_copy(update={"blocker": Blocker(status.reason), "blockers": (), "is_told": True})


def _is_served(pod: Pod) -> bool:
    return bool(pod.node_name) or pod.is_finished
