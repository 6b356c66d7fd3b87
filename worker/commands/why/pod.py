"""Why a pod waits or where it goes: its class, its pools, where it is planned, or each reason why it is not."""

from collections.abc import Iterator, Sequence
from typing import Final

from api.meta import format_timestamp
from api.quantity import rounded_amounts
from planner.model.plan import Placed, PlannedRequest, Unplaced
from planner.objects.counted_pods import is_demand
from planner.objects.kinds import Pod
from planner.scheduling.volume_places import resolve
from planner.supply.pod_group import GroupKeys, choose_pools
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.machine_state import state
from worker.commands.shared.tables import count, money_told
from worker.commands.shared.verdicts import lost_places_of, verdicts

_EVENTS: Final = 3
_BACK_OFF: Final = "BackOff"


def why_pod(pod: Pod, view: ClusterView, events: Sequence[ToldEvent] = (), *, is_live: bool = True) -> list[str]:
    """Return the sentences about a pod; `events` are those that Growth wrote about it, the oldest first.

    They end with what stands in the way on each node and each offering, if the pod is on no node. Of a cluster that is
    not live, no command is named that would tell more.
    """
    lines = [f"Pod {pod.key} asks for {rounded_amounts(pod.requests)}; {_class(pod, view)}."]
    if pod.node_name or pod.is_finished:
        return [*lines, _no_demand(pod, view, is_live=is_live)]
    if is_demand(pod):
        lines += ["It asks for a machine: the scheduler found no place for it.", _pools(pod, view)]
        lines += [*_plan(pod, view, is_live=is_live), *_refusals(pod, view), *_events(events)]
    else:
        lines.append(_no_demand(pod, view, is_live=is_live))
    return [*lines, *verdicts(pod, view.snapshot).lines()]


def _class(pod: Pod, view: ClusterView) -> str:
    keys = GroupKeys()
    key = keys.of(pod)
    alike = sum(keys.of(other) == key for other in view.snapshot.pods if is_demand(other) and other.uid != pod.uid)
    owner = "" if pod.owner is None else f" of {pod.owner.kind} {pod.owner.name}"
    return f"class {key}{owner}, {count(alike, 'other waiting pod')} of it"


def _no_demand(pod: Pod, view: ClusterView, *, is_live: bool) -> str:
    why = "the scheduler has not said that it finds no place for it: it asks for no machine yet"
    if pod.is_finished:
        why = f"it has finished ({pod.phase})"
    elif pod.node_name:
        machine = view.machines.get(pod.node_name)
        where = "" if machine is None else f" ({state(machine, view.snapshot.now)})"
        why = f"it is on node {pod.node_name}{where}{_hint('node', pod.node_name, is_live=is_live)}"
    elif pod.is_terminating:
        why = "it is being deleted"
    elif pod.is_gated:
        why = "a scheduling gate holds it back: whoever set the gate must lift it"
    elif pod.is_daemon or pod.is_mirror:
        why = "a DaemonSet or mirror pod belongs to its node, and no machine is bought for it"
    elif pod.nominated_node:
        why = _nominated(pod, view)
    return f"It is no demand: {why}."


def _nominated(pod: Pod, view: ClusterView) -> str:
    node = pod.nominated_node
    others = view.machines[node].residents
    if any(other.is_terminating and other.priority < pod.priority for other in others):
        return f"it waits for node {node}, where the scheduler makes room for it by preemption"
    return f"it waits for node {node}, which the scheduler keeps for it"


def _pools(pod: Pod, view: ClusterView) -> str:
    choice = choose_pools(pod, view.snapshot.pools)
    if choice.obstacle is not None:
        return f"No pool: {choice.obstacle.message}."
    return f"Machines for it may come from pool {' or '.join(choice.pools)}."


def _plan(pod: Pod, view: ClusterView, *, is_live: bool) -> Iterator[str]:
    plan = view.plan
    placed = next((placed for placed in plan.placed if placed.pod == pod.key), None)
    bought = next((r for r in plan.requests if any(seat.uid == pod.uid for seat in r.seats)), None)
    unplaced = next((entry for entry in plan.unplaced if entry.uid == pod.uid), None)
    if placed is not None:
        yield _placed(placed, view, is_live=is_live)
    elif bought is not None:
        yield _bought(bought, view)
    elif unplaced is not None:
        yield from _unplaced(unplaced)


def _placed(placed: Placed, view: ClusterView, *, is_live: bool) -> str:
    name = placed.node or placed.request or ""
    kind = "node" if placed.node is not None else "request"
    machine = view.machines[name]
    seated = machine.request is not None and any(
        f"{seat.namespace}/{seat.name}" == placed.pod for seat in machine.request.spec.reserved_for
    )
    reserved = ", which is kept for it" if seated else ""
    words = state(machine, view.snapshot.now)
    server = f"{machine.server_type} in {machine.location}: " if machine.server_type else ""
    line = f"It goes onto {kind} {name}{reserved} ({server}{words}){_hint(kind, name, is_live=is_live)}."
    if machine.is_cooling_off:
        line += " The next round cancels the cool-off of that machine."
    return line


def _hint(kind: str, name: str, *, is_live: bool) -> str:
    return f"; `growth why {kind} {name}` tells more" if is_live else ""


def _bought(request: PlannedRequest, view: ClusterView) -> str:
    others = len(request.seats) - 1
    beside = f" and {count(others, 'other pod')}" if others else ""
    price = money_told(request.price_per_hour, view.plan.currency)
    return (
        f"The next round buys a {request.server_type} in {request.location} of pool {request.pool} "
        f"at {price} for it{beside}, unless it is in a back-off. {request.why}."
    )


def _unplaced(entry: Unplaced) -> Iterator[str]:
    yield "No place is found for it:"
    for reason in entry.reasons:
        yield f"  {reason.code}: {reason.message}"
    yield (
        "After several rounds without a place it is left out for a while (the pool's scaleUp.podBackoff); "
        "any change of what can be bought ends that at once."
    )


def _refusals(pod: Pod, view: ClusterView) -> Iterator[str]:
    """Yield what is remembered of its class; a pod without a place has it among its reasons."""
    reasons = {reason.message for entry in view.plan.unplaced if entry.uid == pod.uid for reason in entry.reasons}
    resolved = next((p for p in resolve((pod,), view.snapshot.volumes, ())), pod)
    for reason in lost_places_of(resolved, view.snapshot).reasons(choose_pools(pod, view.snapshot.pools).pools):
        if reason.message not in reasons:
            yield f"Planner and scheduler see it differently: {reason.message}."
    for pool in view.snapshot.pools:
        for entry in pool.status.refused_placements:
            if entry.pod_uid == pod.uid and entry.room_seen_at is not None:
                since = format_timestamp(entry.room_seen_at)
                yield f"Since {since} there is room for it on a node by plan, and the scheduler has not bound it."


def _events(events: Sequence[ToldEvent]) -> Iterator[str]:
    back_off = next((event for event in reversed(events) if event.reason == _BACK_OFF), None)
    if back_off is not None:
        yield f"Back-off, told at {back_off.at}: {back_off.note}"
    others = [event for event in events if event.reason != _BACK_OFF][-_EVENTS:]
    if others:
        yield "What Growth told of it last:"
    for event in others:
        yield f"  {event.at}  {event.reason}: {event.note}"
