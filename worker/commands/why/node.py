"""Why a node is there and stays: whose it is, what it costs, who is on it, and what keeps it from going."""

from collections.abc import Iterator, Sequence

from api.duration import format_duration
from api.keys import LABEL_POOL, TAINT_REMOVE_NOW
from api.v1alpha1.node_removal_request import RemovalPhase
from planner.objects.dead_nodes import judged_at
from planner.objects.kinds import Node
from planner.objects.local_volume import local_volumes
from planner.policies.checks import kept_by_minimum, refusals, safety_checks
from planner.policies.emptiness import read_idle_since
from planner.policies.pace.billing import goes_at
from planner.policies.pace.cancelled import held_until
from planner.policies.pace.pace import BUDGET
from planner.policies.port import Candidate, MachineAction
from planner.policies.repair import have_ended_in_vain, read_spared_at
from planner.policies.safety.evictions import EvictionSafety, eviction_checks
from planner.policies.safety.frozen_pools import frozen_pools
from planner.supply.machines import Machine
from planner.supply.replacement.moving import taking_pods
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.shared.machine_state import awaited_pods, is_ours, own_pods, per_node_pods, state
from worker.commands.shared.next_steps import deadline, removal_commands, sentence, step_of
from worker.commands.shared.tables import count, money, money_told, names
from worker.commands.shared.times import since, until
from worker.commands.why.budget import budget_state, when_it_opens
from worker.commands.why.consolidation import why_not_moved
from worker.commands.why.lifecycle import limits_of_drain, why_bought
from worker.commands.why.little_use import little_use
from worker.commands.why.replacement import why_replaced, why_replaces
from worker.commands.why.wear import wear


def why_node(node: Node, view: ClusterView, events: Sequence[ToldEvent] = ()) -> list[str]:
    """Return the sentences about a node; `events` are those that Growth wrote about its request."""
    machine = view.machines[node.name]
    lines = [_whose(machine, node, view), *why_bought(events), f"State: {state(machine, view.snapshot.now)}."]
    pods = [pod.key for pod in own_pods(machine)]
    awaited = [pod.key for pod in awaited_pods(machine)]
    per_node = [pod.key for pod in per_node_pods(machine)]
    daemons = len(machine.residents) - len(pods) - len(awaited) - len(per_node)
    on_it = f"{count(len(pods), 'pod')} on it: {names(pods)}" if pods else "No pod on it"
    beside = f", beside {count(daemons, 'DaemonSet or mirror pod')}" if daemons else ""
    lines.append(f"{on_it}{beside}.")
    if per_node:
        lines.append(f"{count(len(per_node), 'pod')} on it belong to it, and may be evicted: {names(per_node)}.")
    if awaited:
        lines.append(f"The scheduler keeps it for {count(len(awaited), 'pod')}: {names(awaited)}.")
    planned = [placed.pod for placed in view.plan.placed if node.name in (placed.node, placed.request)]
    if planned:
        lines.append(f"{count(len(planned), 'waiting pod')} planned onto it: {names(planned)}.")
    if not is_ours(machine):
        return [*lines, "Growth never removes it: it bears no request of Growth's."]
    lines += [*_reservation(machine, view), *why_replaces(node.name, view)]
    lines += [*wear(machine, node, view), *little_use(machine, node, view)]
    return [*lines, *_leaving(machine, node, view)]


def _whose(machine: Machine, node: Node, view: ClusterView) -> str:
    if not is_ours(machine):
        pool = f", though it is labelled {LABEL_POOL}={machine.pool}" if machine.pool else ""
        return f"Node {node.name}: not bought by Growth{pool}."
    cost = _cost(machine, view)
    gone = "" if view.pool(machine.pool) is not None else ", a pool that is gone or cannot be read"
    kind = f"a {machine.server_type or 'machine of unknown type'} in {machine.location or 'an unknown location'}"
    return f"Node {node.name}: bought by Growth for pool {machine.pool}{gone}; {kind}, {cost}."


def _cost(machine: Machine, view: ClusterView) -> str:
    price, today = view.price(machine), view.price_today(machine)
    if price is None:
        return "price unknown: its class does not list it"
    paid = money_told(*price)
    if today is None or today == price:
        return paid
    return f"{paid}, {money(today[0])}{'' if today[1] == price[1] else f' {today[1]}'} today"


def _reservation(machine: Machine, view: ClusterView) -> Iterator[str]:
    if machine.request is None or not machine.has_open_request:
        return
    step = step_of(machine.request, view)
    moment = deadline(step)
    when = "" if moment is None else f" until {until(moment, view.snapshot.now)}"
    yield f"Its request is not done{when}: {sentence(step)}. `growth why request {machine.name}` tells more."


def _leaving(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    removal = machine.removal
    if removal is not None:
        step = step_of(removal, view)
        moment = deadline(step)
        when = "" if moment is None else f" until {until(moment, view.snapshot.now)}"
        yield f"It is under removal{when}: {sentence(step)}."
        yield from why_replaced(removal, view)
        if removal.status.phase is RemovalPhase.DRAINING:
            yield f"{removal.status.reason}: {removal.status.message}."
        yield from limits_of_drain(removal, view)
        for command in removal_commands(removal):
            yield f"You may: `{command.replace('NAME', removal.metadata.name)}`."
        return
    begun = next((removal for removal in view.plan.removals if removal.node == node.name), None)
    if begun is not None:
        goes = until(begun.at, view.snapshot.now)
        yield f"The next round begins its removal ({begun.reason}): {begun.why}; it goes at {goes}."
        return
    blocked = next((each for each in view.plan.blocked if each.node == node.name), None)
    if blocked is not None:
        yield f"It would go now ({blocked.trigger}), but {blocked.why}."
        if blocked.reason == BUDGET:
            yield from when_it_opens(budget_state(machine.pool, blocked.trigger, view), view)
        return
    held = held_until(node.annotations, view.snapshot.now)
    if held is not None:
        yield f"A person cancelled its removal: until {until(held, view.snapshot.now)} none is begun by itself."
    if machine.is_to_go_now:
        yield f"Somebody wants it to go: with the taint {TAINT_REMOVE_NOW} it goes as soon as it is empty."
    reasons = list(_keeping(machine, view))
    if reasons:
        yield f"It is not removed: {'; '.join(reasons)}."
        blockers = list(_emptying(machine, view))
        yield from blockers
        if len(reasons) == 1 and not blockers and own_pods(machine):
            yield from why_not_moved(machine, node, view)
        return
    yield from _idle(machine, node, view)


def _emptying(machine: Machine, view: ClusterView) -> Iterator[str]:
    """Yield what keeps policies from emptying a machine with pods."""
    pool = view.pool(machine.pool)
    if pool is None or pool.spec.scale_down.mode != "drain" or not own_pods(machine):
        return
    safety = EvictionSafety({}, lambda: eviction_checks(view.snapshot, view.machines))
    keeper = safety.blocker(Candidate(machine, pool, MachineAction.REMOVE))
    if keeper is not None:
        yield f"No policy may empty it now: {keeper.by}, {keeper.why}."


def _keeping(machine: Machine, view: ClusterView) -> Iterator[str]:
    """Yield everything that keeps the node: its pool, its pods, and the checks that every policy goes through."""
    pool = view.pool(machine.pool)
    if pool is None:
        yield f"pool {machine.pool} is gone or cannot be read, and only a pool's rules remove machines"
    elif pool.metadata.deletion_timestamp is not None:
        yield f"pool {machine.pool} is being deleted, which leaves its machines"
    elif pool.spec.scale_down.mode == "none" and not machine.is_to_go_now:
        yield f"pool {machine.pool} says scaleDown.mode: none"
    if own_pods(machine):
        yield _pods_on(machine, view)
    if awaited_pods(machine):
        yield "the scheduler keeps it for pods"
    if machine.name in view.plan.held:
        yield view.plan.held[machine.name]
    if pool is not None:
        planned = {placed.node or placed.request or "" for placed in view.plan.placed}
        wanted = planned | taking_pods(view.machines)
        snapshot = view.snapshot
        local = local_volumes(snapshot.volumes, snapshot.nodes)
        checks = safety_checks(wanted, snapshot.protected_nodes, local, snapshot.now, frozen_pools(snapshot))
        candidate = Candidate(machine, pool, MachineAction.REMOVE)
        yield from refusals(candidate, checks)


def _pods_on(machine: Machine, view: ClusterView) -> str:
    node, pool, now = machine.node, view.pool(machine.pool), view.snapshot.now
    if node is None or node.unready_since is None or pool is None or not have_ended_in_vain(machine.residents, now):
        return "pods are on it"
    repair = pool.spec.scale_down.repair
    if repair is None:
        return "the pods on it cannot end while it is not Ready, and its pool has no scaleDown.repair"
    at = judged_at(node.unready_since, repair.after, spared_at=read_spared_at(node.annotations))
    if now < at:
        return f"the pods on it cannot end; it counts as dead at {until(at, now)} if it stays so"
    return "it is dead, and goes as the condition DeadNodes of its pool tells"


def _idle(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    """Yield since when nothing keeps the node, and what happens when that has been so for long enough."""
    pool = view.pool(machine.pool)
    if pool is None:
        return
    now, wish = view.snapshot.now, pool.spec.scale_down
    idle_since = read_idle_since(node)
    began = now if idle_since is None else idle_since
    idle = "Idle from the next round on" if idle_since is None else f"Idle since {since(idle_since, now)}"
    ripe_at = began + wish.idle_after
    class_ref = machine.class_ref or pool.spec.template.class_ref
    period = next((each.billing_period for each in view.snapshot.classes if each.ref == class_ref), None)
    goes = ripe_at if period is None else goes_at(machine, period, wish.soft_grace, ripe_at=ripe_at, now=now)
    if now < goes:
        paid = "" if period is None or goes == ripe_at else f"; the {format_duration(period)} that has begun is paid"
        yield f"{idle}; its cool-off begins at {until(goes, now)} if it stays so{paid}."
        return
    yield f"{idle}, and {kept_by_minimum(pool, machine.server_type)}."
