"""Seats: which pods each coming or freshly joined machine is kept for, and who takes over a seat that is free.

Only the objects speak here, never tolerations in a cache. Source: docs/design.md#request.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from api.v1alpha1.node_request import RequestPhase, Seat
from planner.objects.counted_pods import may_be_placed
from planner.objects.kinds import Pod
from planner.supply.machines import Machine
from planner.supply.pod_group import GroupKeys, seat_of


@dataclass(frozen=True, slots=True)
class Seating:
    """Who holds a seat."""

    seats: Mapping[str, tuple[Seat, ...]]
    """Seats that each request should name, by machine. Machines without a live reservation are left out."""
    seated: Mapping[str, tuple[Pod, ...]]
    """By machine: pods with a seat that are neither bound nor on their way to a node."""
    holders: Mapping[str, str] = field(default_factory=dict)
    """Machine by uid of the pod."""


def settle_seats(machines: Iterable[Machine], pods: Iterable[Pod], keys: GroupKeys, now: datetime) -> Seating:
    """Return the seats after successors have taken over those of pods that are gone.

    A pod that is on the machine, or on its way to it, keeps its seat, so that the request need not be
    written. The seat of one that is elsewhere is dropped, as is that of a pod that is gone without a
    successor: a pod of the same owner and class that waits and holds no seat.
    """
    by_uid = {pod.uid: pod for pod in pods}
    kept_seats: dict[str, list[Seat]] = {}
    seated: dict[str, list[Pod]] = {}
    vacant: dict[str, list[Seat]] = {}
    holders: dict[str, str] = {}
    for machine in machines:
        if machine.request is None or not (machine.is_in_flight(now) or machine.is_reserved):
            if _is_void(machine):
                kept_seats[machine.name] = []
            continue
        kept_seats[machine.name], seated[machine.name] = [], []
        for seat in machine.request.spec.reserved_for:
            pod = by_uid.get(seat.uid)
            if pod is None or not (pod.lands_on or may_be_placed(pod)):
                vacant.setdefault(machine.name, []).append(seat)
            elif not pod.lands_on and seat.uid not in holders:
                kept_seats[machine.name].append(seat)
                seated[machine.name].append(pod)
                holders[seat.uid] = machine.name
            elif pod.lands_on == machine.name:
                kept_seats[machine.name].append(seat)
    if vacant:
        # Only now, as a pod that holds a seat on any machine is no heir.
        heirs = _heirs(by_uid.values(), holders)
        for name, seats in vacant.items():
            for seat in seats:
                waiting = heirs.get(seat.owner, []) if seat.owner else []
                heir = next((pod for pod in waiting if keys.of(pod) == seat.pod_class), None)
                if heir is not None:
                    waiting.remove(heir)
                    kept_seats[name].append(seat_of(heir, seat.pod_class))
                    seated[name].append(heir)
                    holders[heir.uid] = name
    return Seating(
        seats={name: tuple(seats) for name, seats in kept_seats.items()},
        seated={name: tuple(found) for name, found in seated.items()},
        holders=holders,
    )


def _is_void(machine: Machine) -> bool:
    """Return whether its request keeps seats although its node is gone: its pods need other ones."""
    request = machine.request
    return (
        request is not None
        and bool(request.spec.reserved_for)
        and machine.node is None
        and request.metadata.deletion_timestamp is None
        and request.status.phase is RequestPhase.READY
        and request.status.released_at is None
    )


def _heirs(pods: Iterable[Pod], holders: Mapping[str, str]) -> dict[str, list[Pod]]:
    """Return the pods that wait and hold no seat, by their owner's uid."""
    heirs: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda p: p.key):
        if pod.owner is not None and pod.uid not in holders and may_be_placed(pod):
            heirs.setdefault(pod.owner.uid, []).append(pod)
    return heirs
