"""Machines that take the place of others: who is replaced by whom, and the pods that are on their way between them.

The scheduler cannot be asked to keep room for a pod that still runs elsewhere. Rounds count it as taken instead.
Source: docs/design.md#replacement.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.departure.replacement import SUCCESSORS_WITHIN
from planner.objects.kinds import Pod
from planner.supply.machines import Machine


def replaced_by_name(machines: Iterable[Machine]) -> dict[str, tuple[Machine, ...]]:
    """Return the machines that go, by the name of each machine that takes their place, as long as they are leaving."""
    replaced: dict[str, list[Machine]] = {}
    for machine in machines:
        if machine.removal is not None and is_moving(machine):
            for name in machine.removal.spec.replaced_by:
                replaced.setdefault(name, []).append(machine)
    return {name: tuple(of_name) for name, of_name in replaced.items()}


def is_moving(machine: Machine) -> bool:
    """Return whether the machine goes and its pods may still be on their way to others; a parked one has none."""
    removal = machine.removal
    return (
        removal is not None
        and machine.is_leaving
        and not removal.spec.immediate
        and removal.status.phase is not RemovalPhase.COULD_NOT_REMOVE
    )


def is_awaiting_successors(machine: Machine, now: datetime) -> bool:
    """Return whether the next pods of those that left the machine may yet come.

    Some were asked to leave a moment ago, or all that are left have been.
    """
    if machine.removal is None or not is_moving(machine) or machine.removal.status.drain_started_at is None:
        return False
    asked_at = machine.removal.status.evict_attempted_at
    is_recent = asked_at is not None and now < asked_at + SUCCESSORS_WITHIN
    return is_recent or all(pod.is_terminating or pod.is_of_node for pod in machine.residents)


def pods_with_moves(machines: Iterable[Machine]) -> dict[str, tuple[Pod, ...]]:
    """Return the pods that are still on a machine that goes, by the machine that has room for each."""
    moving: dict[str, list[Pod]] = {}
    for machine in machines:
        moves = machine.removal.spec.moves if machine.removal is not None and is_moving(machine) else None
        if not moves:
            continue
        residents = {pod.key: pod for pod in machine.residents if not pod.is_finished}
        for move in moves:
            if (pod := residents.get(move.pod)) is not None:
                moving.setdefault(move.node, []).append(pod)
    return {name: tuple(pods) for name, pods in moving.items()}


def taking_pods(machines: Mapping[str, Machine]) -> frozenset[str]:
    """Return the machines that take pods of machines that go: none of them is unneeded as long as those are leaving."""
    names: set[str] = set()
    for machine in machines.values():
        if machine.removal is not None and is_moving(machine):
            spec = machine.removal.spec
            names.update(spec.replaced_by, (move.node for move in spec.moves or ()))
    return frozenset(names)
