"""Seats: which pods each coming or freshly joined machine is kept for, and who takes over a seat that is free.

Only the objects speak here, never tolerations in a cache. Source: docs/design.md#request.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from api.v1alpha1.node_request import RequestPhase, Seat
from planner.objects.counted_pods import may_be_placed
from planner.objects.kinds import Pod
from planner.supply.machines import Machine
from planner.supply.pod_group import GroupKeys, seat_of
from planner.supply.replacement.moving import is_awaiting_successors, pods_with_moves, replaced_by_name


@dataclass(frozen=True, slots=True)
class Seating:
    """Who holds a seat."""

    seats: Mapping[str, tuple[Seat, ...]]
    """Seats that each request should name, by machine. Machines without a live reservation are left out."""
    seated: Mapping[str, tuple[Pod, ...]]
    """By machine: pods with a seat that are neither bound nor on their way to a node."""
    holders: Mapping[str, str] = field(default_factory=dict)
    """Machine by uid of the pod."""
    moving: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict)
    """By machine: pods on machines that go which it has room for, with or without a seat."""
    closed: frozenset[str] = frozenset()
    """Machines with a seat whose pod was asked to leave and is gone, and whose next pod is not there yet: how much room
    that needs is not known, so that no other pod is planned onto it."""


def settle_seats(machines: Iterable[Machine], pods: Iterable[Pod], keys: GroupKeys, now: datetime) -> Seating:
    """Return the seats after successors have taken over those of pods that are gone.

    A pod that is on the machine, or on its way to it, keeps its seat, so that the request need not be
    written. The seat of one that is elsewhere is dropped, as is that of a pod that is gone without a
    successor: a pod of the same owner and class that waits and holds no seat. A pod on a machine that this one replaces
    keeps it until it has left: then its successor has the time to come that controllers need.
    """
    machines = tuple(machines)
    by_uid = {pod.uid: pod for pod in pods}
    replaced = replaced_by_name(machines)
    moving = pods_with_moves(machines, by_uid.values())
    settled = _Settled(moving={name: list(of_one) for name, of_one in moving.items()})
    for machine in machines:
        if machine.request is None or not (machine.is_in_flight(now) or machine.is_reserved):
            if _is_void(machine):
                settled.seats[machine.name] = []
            continue
        settled.seats[machine.name], settled.seated[machine.name] = [], []
        sources = {source.name for source in replaced.get(machine.name, ())}
        for seat in machine.request.spec.reserved_for:
            settled.see(machine.name, seat, by_uid.get(seat.uid), sources)
    if settled.vacant:
        awaiting = {
            name for name, sources in replaced.items() if any(is_awaiting_successors(source, now) for source in sources)
        }
        settled.hand_on(by_uid, keys, awaiting)
    return Seating(
        seats={name: tuple(seats) for name, seats in settled.seats.items()},
        seated={name: tuple(found) for name, found in settled.seated.items()},
        holders=settled.holders,
        moving={name: tuple(of_one) for name, of_one in settled.moving.items()},
        closed=frozenset(settled.closed),
    )


@dataclass(slots=True)
class _Settled:
    """Seats while they are settled, by machine."""

    moving: dict[str, list[Pod]]
    seats: dict[str, list[Seat]] = field(default_factory=dict)
    seated: dict[str, list[Pod]] = field(default_factory=dict)
    vacant: dict[str, list[Seat]] = field(default_factory=dict)
    """Those whose pod is gone, or going."""
    holders: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    def see(self, name: str, seat: Seat, pod: Pod | None, sources: Collection[str]) -> None:
        """Note what becomes of a seat on the machine `name`, which replaces those of `sources`."""
        is_moving = pod is not None and pod.lands_on in sources and not pod.is_finished
        if pod is None or not (pod.lands_on or may_be_placed(pod)) or (is_moving and pod.is_terminating):
            self.vacant.setdefault(name, []).append(seat)
        elif not pod.lands_on and seat.uid not in self.holders:
            self.seats[name].append(seat)
            self.seated[name].append(pod)
            self.holders[seat.uid] = name
        elif pod.lands_on == name:
            self.seats[name].append(seat)
        elif is_moving and seat.uid not in self.holders:
            self.seats[name].append(seat)
            self.holders[seat.uid] = name
            self._await(name, pod)

    def hand_on(self, by_uid: Mapping[str, Pod], keys: GroupKeys, awaiting: Collection[str]) -> None:
        """Give vacant seats to the pods that take over; on machines of `awaiting`, the rest stays as it is."""
        # Only now, as a pod that holds a seat on any machine is no heir.
        heirs = _heirs(by_uid.values(), self.holders)
        for name, seats in self.vacant.items():
            for seat in seats:
                waiting = heirs.get(seat.owner, []) if seat.owner else []
                heir = next((pod for pod in waiting if keys.of(pod) == seat.pod_class), None)
                if heir is not None:
                    waiting.remove(heir)
                    self.seats[name].append(seat_of(heir, seat.pod_class))
                    self.seated[name].append(heir)
                    self.holders[heir.uid] = name
                elif name in awaiting and seat.owner:
                    self._keep_vacant(name, seat, by_uid.get(seat.uid))

    def _keep_vacant(self, name: str, seat: Seat, pod: Pod | None) -> None:
        self.seats[name].append(seat)
        if pod is None:
            self.closed.add(name)
        else:
            self._await(name, pod)

    def _await(self, name: str, pod: Pod) -> None:
        expected = self.moving.setdefault(name, [])
        if all(other.uid != pod.uid for other in expected):
            expected.append(pod)


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
