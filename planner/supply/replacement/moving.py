"""Machines that take the place of others: who is replaced by whom, and the pods that are on their way between them.

The scheduler cannot be asked to keep room for a pod that still runs elsewhere. Rounds count it as taken instead.
Source: docs/design.md#replacement.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import Seat
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


def pods_with_moves(machines: Iterable[Machine], pods: Iterable[Pod]) -> dict[str, tuple[Pod, ...]]:
    """Return the pods that are still on a machine that goes, by the machine that has room for each.

    One that ends needs none any more once the next pod of its controller is there: that one is bound, or waits and
    looks for its place itself. Most controllers make it at once, and a pod may take an hour to end.
    """
    machines = tuple(machines)
    successors = _Successors(machines, pods)
    moving: dict[str, list[Pod]] = {}
    for machine in machines:
        moves = machine.removal.spec.moves if machine.removal is not None and is_moving(machine) else None
        if not moves:
            continue
        residents = {pod.key: pod for pod in machine.residents if not pod.is_finished}
        for move in moves:
            pod = residents.get(move.pod)
            if pod is not None and not (pod.is_terminating and successors.take(pod, machine)):
                moving.setdefault(move.node, []).append(pod)
    return {name: tuple(pods) for name, pods in moving.items()}


def owners_of_leaving(machine: Machine, seats: Mapping[str, Sequence[Seat]]) -> frozenset[str] | None:
    """Return the uids of controllers whose next pods may have a machine back that goes; None if any pod may.

    Once the pods of a machine with a plan for them have been asked to leave, it comes back only for those of them that
    find no other place: another pod gets a machine of its own rather than what others have been moved for.

    Args:
        machine: that goes, or not.
        seats: that machines are kept for, by their name.
    """
    removal = machine.removal
    if removal is None or removal.status.phase is not RemovalPhase.DRAINING:
        return None
    owners = {pod.owner.uid for pod in machine.residents if pod.owner is not None}
    owners.update(move.owner for move in removal.spec.moves or () if move.owner)
    owners.update(seat.owner for name in removal.spec.replaced_by for seat in seats.get(name, ()) if seat.owner)
    return frozenset(owners)


class _Successors:
    """The pods that were made since drains began, each of which takes over for one.

    Args:
        machines: all there are.
        pods: all there are.
    """

    def __init__(self, machines: Iterable[Machine], pods: Iterable[Pod]) -> None:
        self._by_owner: dict[str, list[datetime]] = {}
        began = (at for machine in machines if is_moving(machine) and (at := _drained_since(machine)) is not None)
        first = min(began, default=None)
        if first is None:
            return
        for pod in pods:
            is_alive = not (pod.is_terminating or pod.is_finished)
            if is_alive and pod.owner is not None and pod.created_at is not None and pod.created_at >= first:
                self._by_owner.setdefault(pod.owner.uid, []).append(pod.created_at)

    def take(self, pod: Pod, machine: Machine) -> bool:
        """Return whether there is one for this pod of a machine that goes: it is nobody else's then."""
        began = _drained_since(machine)
        made = self._by_owner.get(pod.owner.uid, []) if pod.owner is not None else []
        at = next((at for at in made if began is not None and at >= began), None)
        if at is not None:
            made.remove(at)
        return at is not None


def _drained_since(machine: Machine) -> datetime | None:
    """Return since when pods are asked to leave, in whole seconds, in which the API server counts."""
    began = None if machine.removal is None else machine.removal.status.drain_started_at
    return None if began is None else began.replace(microsecond=0)


def taking_pods(machines: Mapping[str, Machine]) -> frozenset[str]:
    """Return the machines that take pods of machines that go: none of them is unneeded as long as those are leaving."""
    names: set[str] = set()
    for machine in machines.values():
        if machine.removal is not None and is_moving(machine):
            spec = machine.removal.spec
            names.update(spec.replaced_by, (move.node for move in spec.moves or ()))
    return frozenset(names)
