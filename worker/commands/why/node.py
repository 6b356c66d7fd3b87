"""Why a node is there and stays: whose it is, what it costs, who is on it, and what keeps it from going."""

from collections.abc import Iterator, Sequence

from api.keys import LABEL_POOL
from api.v1alpha1.node_removal_request import RemovalPhase
from planner.objects.kinds import Node
from planner.policies.checks import kept_by_minimum, refusals, safety_checks
from planner.policies.emptiness import read_idle_since
from planner.policies.port import Candidate, MachineAction
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.machine_state import awaited_pods, is_ours, own_pods, state
from worker.commands.shared.next_steps import deadline, removal_commands, sentence, step_of
from worker.commands.shared.tables import count, money, names
from worker.commands.shared.times import since, until
from worker.commands.why.lifecycle import why_bought


def why_node(node: Node, sight: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about a node; `events` are those that Growth wrote about its request."""
    machine = sight.machines[node.name]
    lines = [_whose(machine, node, sight), *why_bought(events), f"State: {state(machine, sight.snapshot.now)}."]
    pods = [pod.key for pod in own_pods(machine)]
    awaited = [pod.key for pod in awaited_pods(machine)]
    daemons = len(machine.residents) - len(pods) - len(awaited)
    on_it = f"{count(len(pods), 'pod')} on it: {names(pods)}" if pods else "No pod on it"
    beside = f", beside {count(daemons, 'DaemonSet or mirror pod')}" if daemons else ""
    lines.append(f"{on_it}{beside}.")
    if awaited:
        lines.append(f"The scheduler keeps it for {count(len(awaited), 'pod')}: {names(awaited)}.")
    planned = [placed.pod for placed in sight.plan.placed if node.name in (placed.node, placed.request)]
    if planned:
        lines.append(f"{count(len(planned), 'waiting pod')} planned onto it: {names(planned)}.")
    if not is_ours(machine):
        return [*lines, "Growth never removes it: it bears no request of Growth's."]
    lines += _reservation(machine, sight)
    return [*lines, *_leaving(machine, node, sight)]


def _whose(machine: Machine, node: Node, sight: ClusterView) -> str:
    if not is_ours(machine):
        pool = f", though it is labelled {LABEL_POOL}={machine.pool}" if machine.pool else ""
        return f"Node {node.name}: not bought by Growth{pool}."
    cost = _cost(machine, sight)
    gone = "" if sight.pool(machine.pool) is not None else ", a pool that is gone or cannot be read"
    kind = f"a {machine.server_type or 'machine of unknown type'} in {machine.location or 'an unknown location'}"
    return f"Node {node.name}: bought by Growth for pool {machine.pool}{gone}; {kind}, {cost}."


def _cost(machine: Machine, sight: ClusterView) -> str:
    price, today = sight.price(machine), sight.price_today(machine)
    if price is None:
        return "price unknown: its class does not list it"
    told = f"{money(price[0])} {price[1]} per hour"
    if today is None or today == price:
        return told
    return f"{told}, {money(today[0])}{'' if today[1] == price[1] else f' {today[1]}'} today"


def _reservation(machine: Machine, sight: ClusterView) -> Iterator[str]:
    if machine.request is None or not machine.has_open_request:
        return
    step = step_of(machine.request, sight)
    moment = deadline(step)
    when = "" if moment is None else f" until {until(moment, sight.snapshot.now)}"
    yield f"Its request is not done{when}: {sentence(step)}. `growth why request {machine.name}` tells more."


def _leaving(machine: Machine, node: Node, sight: ClusterView) -> Iterator[str]:
    removal = machine.removal
    if removal is not None:
        step = step_of(removal, sight)
        moment = deadline(step)
        when = "" if moment is None else f" until {until(moment, sight.snapshot.now)}"
        yield f"It is under removal{when}: {sentence(step)}."
        if removal.status.phase is RemovalPhase.DRAINING:
            yield f"{removal.status.reason}: {removal.status.message}."
        for command in removal_commands(removal):
            yield f"You may: `{command.replace('NAME', removal.metadata.name)}`."
        return
    begun = next((removal for removal in sight.plan.removals if removal.node == node.name), None)
    if begun is not None:
        yield f"The next round begins its removal: {begun.why}; it goes at {until(begun.at, sight.snapshot.now)}."
        return
    kept = list(_keeping(machine, sight))
    if kept:
        yield f"It is not removed: {'; '.join(kept)}."
        return
    yield from _idle(machine, node, sight)


def _keeping(machine: Machine, sight: ClusterView) -> Iterator[str]:
    """Yield everything that keeps the node: its pool, its pods, and the checks that every policy goes through."""
    pool = sight.pool(machine.pool)
    if pool is None:
        yield f"pool {machine.pool} is gone or cannot be read, and only a pool's rules remove machines"
    elif pool.metadata.deletion_timestamp is not None:
        yield f"pool {machine.pool} is being deleted, which leaves its machines"
    elif pool.spec.scale_down.mode == "none":
        yield f"pool {machine.pool} says scaleDown.mode: none"
    if own_pods(machine):
        yield "pods are on it"
    if awaited_pods(machine):
        yield "the scheduler keeps it for pods"
    if pool is not None:
        wanted = {placed.node or placed.request or "" for placed in sight.plan.placed}
        checks = safety_checks(wanted, sight.snapshot.protected_nodes)
        yield from refusals(Candidate(machine, pool, MachineAction.REMOVE), checks)


def _idle(machine: Machine, node: Node, sight: ClusterView) -> Iterator[str]:
    """Yield since when nothing keeps the node, and what happens when that has been so for long enough."""
    pool = sight.pool(machine.pool)
    if pool is None:
        return
    now, wish = sight.snapshot.now, pool.spec.scale_down
    found = read_idle_since(node)
    began = now if found is None else found
    told = "Idle from the next round on" if found is None else f"Idle since {since(found, now)}"
    ripe_at = began + wish.idle_after
    if now < ripe_at:
        yield f"{told}; its cool-off begins at {until(ripe_at, now)} if it stays so."
        return
    yield f"{told}, and {kept_by_minimum(pool, machine.server_type)}."
