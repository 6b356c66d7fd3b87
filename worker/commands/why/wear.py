"""What a node is due for: its age, its drift, a bad condition."""

from collections.abc import Iterator

from planner.objects.dead_nodes import judged_at
from planner.objects.kinds import Node
from planner.policies.repair import read_spared_at
from planner.policies.triggers.drift import template_state
from planner.policies.triggers.failing_nodes import failing_since
from planner.policies.triggers.rotation import rotates_at
from planner.supply.machines import Machine
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.times import since, until


def wear(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    """Yield a sentence on each trigger that the node's pool has for it, due or not."""
    yield from _age(machine, node, view)
    yield from _drift(machine, view)
    yield from _conditions(machine, node, view)


def _age(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    pool, now = view.pool(machine.pool), view.snapshot.now
    rotation = None if pool is None else pool.spec.rotation
    at = None if rotation is None else rotates_at(node, rotation.max_node_age)
    if rotation is None or at is None or node.created_at is None:
        return
    at_min = ", while the pool is at its minimum" if rotation.only_at_min else ""
    age = f"It is here since {since(node.created_at, now)}"
    yield f"{age}: {'old enough to be replaced' if at <= now else f'to be replaced at {until(at, now)}'}{at_min}."


def _drift(machine: Machine, view: ClusterView) -> Iterator[str]:
    pool = view.pool(machine.pool)
    ref = None if pool is None else pool.spec.template.class_ref
    made_with = next((each.template for each in view.snapshot.classes if each.ref == ref), None)
    if pool is None or made_with is None:
        return
    state = template_state(machine, view.known.pool_kinds[pool.metadata.name].allowed, made_with)
    if state.drift:
        yield f"It has drifted: {state.drift}."


def _conditions(machine: Machine, node: Node, view: ClusterView) -> Iterator[str]:
    pool, now = view.pool(machine.pool), view.snapshot.now
    repair = None if pool is None else pool.spec.scale_down.repair
    for condition in () if repair is None else repair.conditions or ():
        began = failing_since(node, condition)
        if began is not None:
            at = judged_at(began, condition.after, spared_at=read_spared_at(node.annotations))
            replaced = "its pool replaces it for that" if at <= now else f"it is replaced for that at {until(at, now)}"
            yield f"It says {condition.type}={condition.status} since {since(began, now)}; {replaced}."
