"""Room that pods without a seat took on a machine that is kept for others.

A pod that tolerates every taint lands wherever it fits, reserved or not, and nothing that a Node can carry keeps it
off. So its room counts from its binding on, and a pod that no longer fits on its machine loses the seat and looks for
another place in the same round, instead of waiting for the end of the reservation.
Source: Kubernetes docs, "Taints and Tolerations"; docs/decisions/0017-what-tolerates-all-takes-reserved-room.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from api.keys import LABEL_HOSTNAME
from api.v1alpha1.node_request import Seat
from planner.objects.kinds import Pod
from planner.scheduling.affinity import Namespaces
from planner.scheduling.attachments import asked
from planner.scheduling.conflicts import TakenPorts
from planner.scheduling.label_index import LabelIndex
from planner.supply.places import Place
from planner.supply.seats import Seating


def without_lost_seats(seating: Seating, supply: Iterable[Place], namespaces: Namespaces) -> Seating:
    """Return the seating without the seats whose room others took; the same object where none is lost.

    Of several, the most important pods keep theirs, then those that were seated first. What a machine lacks for another
    reason, such as a device that is reported late, costs no seat here.
    """
    lost = {
        place.machine.name: uids
        for place in supply
        if (uids := _lost_on(place, seating.seated.get(place.machine.name, ()), namespaces))
    }
    if not lost:
        return seating
    gone = frozenset[str]().union(*lost.values())
    return replace(
        seating,
        seats=_kept(seating.seats, lost),
        seated={
            name: tuple(p for p in pods if p.uid not in lost.get(name, ())) for name, pods in seating.seated.items()
        },
        holders={uid: name for uid, name in seating.holders.items() if uid not in gone},
    )


def _kept(seats: Mapping[str, tuple[Seat, ...]], lost: Mapping[str, frozenset[str]]) -> dict[str, tuple[Seat, ...]]:
    return {name: tuple(s for s in of_one if s.uid not in lost.get(name, ())) for name, of_one in seats.items()}


def _lost_on(place: Place, seated: Sequence[Pod], namespaces: Namespaces) -> frozenset[str]:
    """Return the uids of the pods that have no room left on their machine, because of pods that have no seat there."""
    request = place.machine.request
    if not seated or request is None:
        return frozenset()
    planned = {seat.uid for seat in request.spec.reserved_for}
    takers = [pod for pod in place.machine.residents if pod.uid not in planned and not (pod.is_daemon or pod.is_mirror)]
    if not takers:
        return frozenset()
    kept_off = {*_repelled(seated, takers, namespaces)}
    taken, room = Counter[str](), Counter(place.free)
    for pod in takers:
        taken.update(asked(pod))
    for pod in seated:
        room.update(asked(pod))
    lost: set[str] = set()
    # The sort is stable.
    for pod in sorted(seated, key=lambda p: -p.priority):
        needs = asked(pod)
        if pod.uid in kept_off or _is_taken(needs, room, taken):
            lost.add(pod.uid)
        else:
            room.subtract(needs)
    return frozenset(lost)


def _is_taken(needs: Mapping[str, int], room: Mapping[str, int], taken: Mapping[str, int]) -> bool:
    """Return whether something is missing that would be there but for what was taken."""
    return any(room.get(name, 0) < amount <= room.get(name, 0) + taken.get(name, 0) for name, amount in needs.items())


def _repelled(seated: Sequence[Pod], takers: Sequence[Pod], namespaces: Namespaces) -> Iterator[str]:
    """Yield the uids of the pods that may not share a machine with one of the others."""
    ports = TakenPorts(takers)
    yield from (pod.uid for pod in seated if pod.host_ports and ports.meet(pod))
    beside = LabelIndex(takers, namespaces)
    for pod in seated:
        terms = (term for term in pod.pod_anti_affinity if term.topology_key == LABEL_HOSTNAME)
        if any(True for term in terms for _ in beside.meant_by(term)):
            yield pod.uid
    terms = [term for pod in takers for term in pod.pod_anti_affinity if term.topology_key == LABEL_HOSTNAME]
    if terms:
        index = LabelIndex(seated, namespaces)
        yield from (seated[position].uid for term in terms for position in index.meant_by(term))
