"""Room that pods were to move to and that is gone: a removal that has not begun to move them is taken back.

The scheduler knows of no room that is kept for a pod which still runs elsewhere, so others may take it. And a new
machine may have less than its catalogue says. To find out by asking the pods to leave would cost each one a restart.
Where others have as much room, the pods are moved all the same: on a busy cluster some room is always taken meanwhile.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.model.plan import RemovalCancel
from planner.objects.kinds import Pod
from planner.scheduling.attachments import asked
from planner.supply.machines import Machine
from planner.supply.observed.learned import RESOURCES
from planner.supply.places import Place, Rank


def lost_room(
    places: Iterable[Place], machines: Mapping[str, Machine], cancelled: Collection[str]
) -> tuple[RemovalCancel, ...]:
    """Return the cancels of removals, those whose turn comes last first, until the room is enough for the others.

    Args:
        places: with the room that is left beside the pods which are to move there.
        machines: all there are, by name.
        cancelled: removals that are cancelled for another reason.
    """
    cancels: dict[str, RemovalCancel] = {}
    places = tuple(places)
    for place in places:
        short = {name: -place.free[name] for name in RESOURCES if place.free.get(name, 0) < 0}
        for source, name in _waiting(place, machines) if short else ():
            if all(amount <= 0 for amount in short.values()):
                break
            if name in cancelled:
                continue
            pods = [pod for pod in place.moving if pod.lands_on == source]
            if not _fit_elsewhere(pods, place, places):
                why = f"{place.machine.name} has no room for its pods any more"
                cancels.setdefault(name, RemovalCancel(name, why=why))
            moved = Counter[str]()
            for pod in pods:
                moved.update(asked(pod))
            short = {resource: amount - moved[resource] for resource, amount in short.items()}
    return tuple(cancels.values())


def _fit_elsewhere(pods: Iterable[Pod], place: Place, places: Iterable[Place]) -> bool:
    """Return whether other Nodes have room for the pods, as far as amounts tell."""
    rooms = [dict(other.free) for other in places if other.rank is Rank.NODE and other is not place]
    for pod in pods:
        amounts = asked(pod)
        room = next((room for room in rooms if all(room.get(name, 0) >= n for name, n in amounts.items() if n)), None)
        if room is None:
            return False
        for name, n in amounts.items():
            room[name] = room.get(name, 0) - n
    return True


def _waiting(place: Place, machines: Mapping[str, Machine]) -> Iterator[tuple[str, str]]:
    """Yield the machines whose pods are to move there and were not asked to, each with its removal, last first."""
    for name in sorted({pod.lands_on for pod in place.moving}, reverse=True):
        removal = machines[name].removal if name in machines else None
        if removal is not None and removal.status.phase is RemovalPhase.PENDING:
            yield name, removal.metadata.name
