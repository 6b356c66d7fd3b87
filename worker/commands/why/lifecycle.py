"""Why a request or a removal stands where it does: its phase, what is awaited, what happens then, what happened."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.objects.related import removal_timings
from activities.requests.as_planned import AS_PLANNED
from activities.requests.provider_id import OWN_PROVIDER_ID
from activities.round.apply_plan import REQUESTED
from api.keys import ANNOTATION_DECISION
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.clocks.drain_limits import drain_limits
from planner.lifecycle.step import Step
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.machine_state import state
from worker.commands.shared.next_steps import (
    deadline,
    removal_commands,
    removal_decisions,
    request_commands,
    sentence,
    step_of,
)
from worker.commands.shared.tables import count, money_told, names
from worker.commands.shared.times import ago, clock, until
from worker.commands.why.replacement import why_replaced, why_replaces

_EVENTS: Final = 5


def why_request(request: NodeRequest, view: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about a request; `events` are those that Growth wrote about it."""
    name, spec, status = request.metadata.name, request.spec, request.status
    machine = view.machines[name]
    lines = [
        f"NodeRequest {name}: {_what(machine, view)} for pool {spec.pool}.",
        *why_bought(events),
        _pods(request),
        *why_replaces(name, view),
        _phase(request, state(machine, view.snapshot.now), view),
        *_next(name, step_of(request, view), request_commands(request), view),
    ]
    if name in view.plan.cancelled:
        lines.append("The next round cancels it: no pod needs it any more, and no server was asked for.")
    if status.attempts:
        lines.append(
            f"{count(status.attempts, 'create call')} so far; server: {status.provider_id or 'none known yet'}."
        )
    false = {each.type: each.message for each in status.conditions if each.status == "False"}
    if AS_PLANNED in false:
        lines.append(f"Its Node is not as planned: {false[AS_PLANNED]}.")
    if OWN_PROVIDER_ID in false:
        lines.append(f"Its Node does not name its server: {false[OWN_PROVIDER_ID]}.")
    return [*lines, *_workflow(status.workflow_id), *_events(status.events, view)]


def why_bought(events: Sequence[ToldEvent]) -> Iterator[str]:
    """Yield why a machine is of its type, as long as the event that tells it of its request is kept."""
    purchase = next((event for event in events if event.reason == REQUESTED), None)
    if purchase is not None:
        yield f"Why it was bought, told at {purchase.at}: {purchase.note}."


def why_removal(removal: NodeRemovalRequest, view: ClusterView) -> list[str]:
    """Return the sentences about a removal."""
    name, spec, status = removal.metadata.name, removal.spec, removal.status
    machine = view.machines[spec.server_name]
    kind = ", at once" if spec.immediate else ""
    lines = [
        f"NodeRemovalRequest {name}: {_what(machine, view)} of pool {spec.pool} shall go{kind}, reason {spec.reason}.",
        _phase(removal, state(machine, view.snapshot.now), view),
    ]
    if status.cancel is not None:
        cancel = status.cancel
        why = f": {cancel.reason}" if cancel.reason else ""
        lines.append(f"Cancelled by {cancel.by} at {clock(cancel.at, view.snapshot.now)}{why}.")
    lines += why_replaced(removal, view)
    lines += _next(name, step_of(removal, view), removal_commands(removal), view)
    lines += limits_of_drain(removal, view)
    lines += _with_kubectl(removal)
    wish = next((cancel for cancel in view.plan.removal_cancels if cancel.removal == name), None)
    if wish is not None:
        lines.append(f"The next round cancels it: {wish.why or f'pods want the machine: {names(wish.pods)}'}.")
    return [*lines, *_workflow(status.workflow_id), *_events(status.events, view)]


def limits_of_drain(removal: NodeRemovalRequest, view: ClusterView) -> Iterator[str]:
    """Yield how long the drain of a removal may last, where it has a limit."""
    if removal.status.phase is not RemovalPhase.DRAINING or removal.status.cancel is not None:
        return
    timings, now = removal_timings(view.pool(removal.spec.pool)), view.snapshot.now
    limits = drain_limits(removal.spec.reason, removal.status, timings)
    if limits.deadline is not None:
        yield f"By {until(limits.deadline, now)} its pods have been deleted, whatever keeps them."
    if limits.given_up_at is not None:
        yield f"Its drain is given up at {until(limits.given_up_at, now)}."
    elif timings.hard_grace is not None and removal.status.drain_started_at is not None:
        forced_from = removal.status.drain_started_at + timings.hard_grace
        yield f"From {until(forced_from, now)} its pods are deleted, whatever keeps them."


def _what(machine: Machine, view: ClusterView) -> str:
    price = view.price(machine)
    cost = "at a price that its class does not tell" if price is None else f"at {money_told(*price)}"
    return f"a {machine.server_type} in {machine.location} {cost}"


def _pods(request: NodeRequest) -> str:
    seats = [f"{seat.namespace}/{seat.name}" for seat in request.spec.reserved_for]
    return f"Kept for {count(len(seats), 'pod')}: {names(seats)}." if seats else "Kept for no pod."


def _phase(owner: NodeRequest | NodeRemovalRequest, words: str, view: ClusterView) -> str:
    status = owner.status
    began = status.events[-1].at if status.events else owner.metadata.creation_timestamp
    moment = "" if began is None else f"; last step {ago(began, view.snapshot.now)}"
    why = ": ".join(part for part in (status.reason, status.message) if part)
    return f"Phase {status.phase}: {words}{moment}." + (f" {why}" if why else "")


def _next(name: str, step: Step, commands: Sequence[str], view: ClusterView) -> Iterator[str]:
    moment = deadline(step)
    yield (
        f"Next: {sentence(step)}."
        if moment is None
        else (f"Awaited until {until(moment, view.snapshot.now)}: {sentence(step)}.")
    )
    if commands:
        yield "You may: " + ", or ".join(f"`{command.replace('NAME', name)}`" for command in commands) + "."


def _with_kubectl(removal: NodeRemovalRequest) -> Iterator[str]:
    """Yield the kubectl command that decides without Temporal."""
    decisions = removal_decisions(removal)
    if decisions:
        first, *others = decisions
        command = f"kubectl annotate noderemovalrequest {removal.metadata.name} {ANNOTATION_DECISION}={first}"
        yield f"Or with kubectl alone: `{command}`" + (f" (or {', '.join(others)})." if others else ".")


def _workflow(workflow_id: str | None) -> Iterator[str]:
    if workflow_id is None:
        yield "No workflow drives it yet: is the worker (`growth run`) up?"
    else:
        yield f"Temporal workflow: {workflow_id}."


def _events(events: Sequence[LifecycleEvent], view: ClusterView) -> Iterator[str]:
    if events:
        yield "What happened last:"
    for event in events[-_EVENTS:]:
        why = f": {event.reason}" if event.reason else ""
        yield f"  {clock(event.at, view.snapshot.now)}  {event.name}{why}"
