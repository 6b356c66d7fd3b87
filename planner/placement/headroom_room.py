"""The room that real pods leave, and which machines give headroom its room: those that stay, then the cheapest."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations
from typing import Final

from planner.objects.kinds import Pod
from planner.packing.assemble import Assembly, assemble
from planner.packing.assign import Assignment, assigned_pods
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packing
from planner.placement.known_state import KnownState
from planner.placement.spare_machines import spare_machines, was_idle
from planner.policies.expendable import Expendables
from planner.scheduling.attachments import asked
from planner.supply.limits import Limits
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup

_EACH_SET: Final = 6
"""Spare machines of which every set is looked at: 64 of them."""
_MOST_TRIED: Final = 100
"""Sets of more machines that are looked at."""


@dataclass(frozen=True, slots=True)
class Filled:
    """Where headroom has room."""

    pods: Mapping[str, Sequence[Pod]]
    """By machine."""
    left: tuple[PodGroup, ...]
    """Without room."""


class HeadroomRoom:
    """Places as headroom may use them: without the pods that the round puts there, and over expendable ones.

    Args:
        known: the state of the round.
        assignment: where it puts the pods that wait.
        places: that may give room.
    """

    def __init__(self, known: KnownState, assignment: Assignment, places: Sequence[Place]) -> None:
        self._known = known
        self._places = places
        self._expendables = Expendables(known.snapshot.pools)
        self._taken = _taken(known, assignment)
        self.costs = spare_machines(known, assignment.used, self._expendables)
        """What machines cost per hour that would go unless headroom needed them, by name."""

    def fill(self, groups: Sequence[PodGroup], is_open: Callable[[Place], bool]) -> Filled:
        """Return where these groups have room on the open places.

        On Nodes that stay anyway; what has none there on spare ones; and last on machines that are coming, or whose
        pods are: those may never come, so that none which is there goes for them.
        """
        rooms = [self._for_headroom(place) for place in self._places if is_open(place)]
        certain = [place for place in rooms if not self._is_awaited(place)]
        filled = Filled({}, tuple(groups))
        for some in (
            [place for place in certain if place.machine.name not in self.costs],
            [place for place in certain if place.machine.name in self.costs],
            [place for place in rooms if self._is_awaited(place)],
        ):
            if filled.left:
                sharing = _Sharing(filled.left, some, self._known)
                more = sharing.filled(sharing.cheapest(self.costs))
                filled = Filled({**filled.pods, **more.pods}, more.left)
        return filled

    def _is_awaited(self, place: Place) -> bool:
        has_pods = any(not pod.is_of_node for pod in place.machine.residents)
        return place.rank is Rank.IN_FLIGHT or (not has_pods and place.machine.name in self._taken)

    def without(self, filled: Filled) -> tuple[Place, ...]:
        """Return all places for real pods, without what headroom takes: of expendable pods' room first."""
        return tuple(self._for_pods(place, filled.pods.get(place.machine.name, ())) for place in self._places)

    def _for_headroom(self, place: Place) -> Place:
        free = _changed(place.free, self._taken.get(place.machine.name, ()), -1)
        return replace(place, free=_changed(free, self._expendable_on(place), 1))

    def _for_pods(self, place: Place, pods: Sequence[Pod]) -> Place:
        left = _changed(_changed(place.free, self._expendable_on(place), 1), pods, -1)
        return replace(place, free={name: min(amount, left[name]) for name, amount in place.free.items()})

    def _expendable_on(self, place: Place) -> list[Pod]:
        return [pod for pod in place.pods if not pod.is_of_node and pod in self._expendables]


class _Sharing:
    """Groups and the places that they may share.

    Always by the quick packer, as rounds with nothing to buy are frequent.
    """

    def __init__(self, groups: Sequence[PodGroup], places: Sequence[Place], known: KnownState) -> None:
        self._groups = groups
        self._assembly: Assembly = assemble(groups, places, {}, Limits({}), (), pod_counts=known.pod_counts)
        self._machines = [kind.machine for kind in self._assembly.given.kinds if isinstance(kind, Place)]
        self._order = {place.machine.name: (was_idle(place.machine), place.rank) for place in places}

    def filled(self, names: Collection[str]) -> Filled:
        """Return where the groups have room on these machines."""
        packing = self._packed(names)
        queues = [list(group.pods) for group in self._groups]
        pods = {
            self._machines[packing.nodes[n].bin].name: [placed.pod for placed in of_one]
            for n, of_one in assigned_pods(self._assembly, packing, queues)
        }
        left = (replace(group, pods=tuple(rest)) for group, rest in zip(self._groups, queues, strict=True) if rest)
        return Filled({name: of_one for name, of_one in pods.items() if of_one}, tuple(left))

    def cheapest(self, costs: Mapping[str, Decimal]) -> list[str]:
        """Return the machines that have room for as much as all of them, at the least cost that is found.

        All of those without a cost are among them, where no other one has any.
        """
        spare = {machine.name: costs.get(machine.name, Decimal(0)) for machine in self._machines}
        names = sorted(spare, key=lambda name: (spare[name], *self._order[name], name))
        if not any(spare.values()):
            return names
        most = self._left_on(names)
        if len(names) <= _EACH_SET:
            sets = (list(some) for n in range(len(names) + 1) for some in combinations(names, n))
            # Sorting is stable: of equally dear sets, the one of machines that were needed before.
            ordered = sorted(sets, key=lambda some: (sum(spare[name] for name in some), len(some)))
            return next(some for some in ordered if self._left_on(some) <= most)
        tries = iter(range(_MOST_TRIED))
        choices = [self._pruned(start, most, tries) for start in self._starts(names, most)]
        return min(choices, key=lambda some: sum(spare[name] for name in some))

    def _starts(self, names: Sequence[str], most: int) -> Iterator[list[str]]:
        yield list(names)
        low, high = 0, len(names)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._left_on(names[:middle]) <= most else (middle + 1, high)
        yield list(names[:high])

    def _pruned(self, names: Sequence[str], most: int, tries: Iterator[int]) -> list[str]:
        """Return the machines without those that are not needed, the dearest first."""
        needed_names = list(names)
        for name in reversed(names):
            if next(tries, None) is None:
                break
            others = [other for other in needed_names if other != name]
            if self._left_on(others) <= most:
                needed_names = others
        return needed_names

    def _left_on(self, names: Collection[str]) -> int:
        return sum(self._packed(names).unplaced.values())

    def _packed(self, names: Collection[str]) -> Packing:
        problem = self._assembly.problem
        closed = {row.limits[0] for row, m in zip(problem.bins, self._machines, strict=True) if m.name not in names}
        limits = tuple(0 if n in closed else most for n, most in enumerate(problem.limits))
        return pack(replace(problem, limits=limits))


def _taken(known: KnownState, assignment: Assignment) -> dict[str, list[Pod]]:
    by_key = {pod.key: pod for pod in known.demand} if assignment.placed else {}
    taken: dict[str, list[Pod]] = {}
    for placed in assignment.placed:
        taken.setdefault(placed.node or placed.request or "", []).append(by_key[placed.pod])
    return taken


def _changed(free: Mapping[str, int], pods: Iterable[Pod], sign: int) -> dict[str, int]:
    total = dict(free)
    for pod in pods:
        for name, amount in asked(pod).items():
            total[name] = total.get(name, 0) + sign * amount
    return total
