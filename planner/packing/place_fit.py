"""Which pod groups fit onto which places: by amounts, labels, taints, volumes and ports."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from api.keys import LABEL_OS
from planner.objects.kinds import Pod
from planner.objects.predicates import suits
from planner.scheduling.attachments import Handle, asked, is_enough
from planner.scheduling.conflicts import TakenPorts
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup

T = TypeVar("T")

_NOTHING: Final = -1
"""Less than any amount: who does not ask for a resource fits even where more of it is taken than there is."""
_MOST_ANSWERS: Final = 1_000
"""That are kept for places which hold the same groups."""
_STEP: Final = 64
"""Groups: the sets of those up to every such many are kept, and others made of them."""


class PlaceFit:
    """Judges pod groups against places: many groups at once, as bits of one number, and once for places alike.

    A round judges each group against each machine with room. The answer about labels and taints is the same on most
    machines and for many groups; that about amounts is, for each resource, where what is free stands among the sizes.
    """

    def __init__(self, groups: Sequence[PodGroup]) -> None:
        self._groups = groups
        pods = [group.example for group in groups]
        self._pods = pods
        self._all = (1 << len(groups)) - 1
        self._sizes = {name: _Sizes(name, pods) for name in sorted({name for pod in pods for name in pod.requests})}
        self._keys = {key for pod in pods for key in _keys(pod)}
        rules = [(p.system, p.node_selector, p.node_affinity, p.volume_terms, p.tolerations) for p in pods]
        alike = _positions_by(rules)
        self._alike = [alike[rule] for rule in rules]
        self._suits: dict[tuple[object, ...], tuple[int, int]] = {}
        self._held: dict[int, Sequence[int]] = {}
        by_pools = _positions_by([group.pools for group in groups])
        self._of_pools = {pools: _bits(positions) for pools, positions in by_pools.items()}
        self._has_ports = any(pod.host_ports for pod in pods)
        self._one_by_one = _bits(
            i for i, pod in enumerate(pods) if pod.attachments or pod.host_ports or groups[i].lost_places is not None
        )

    def held(self, place: Place, attached: Collection[Handle]) -> Sequence[int]:
        """Return the groups of which a pod fits onto the place, ascending; `attached` volumes are there already."""
        fitting = self._all
        for name, sizes in self._sizes.items():
            fitting &= sizes.up_to(place.free.get(name, 0))
        if place.only_pool is not None and fitting:
            fitting &= sum(bits for pools, bits in self._of_pools.items() if place.only_pool in pools)
        if place.only_owners is not None and fitting:
            fitting &= _bits(i for i in _positions(fitting) if _has_pod_of(self._groups[i], place.only_owners))
        if fitting:
            fitting &= self._suited(place, fitting)
        if fitting & self._one_by_one:
            ports = TakenPorts((*place.pods, *place.moving, *place.daemons) if self._has_ports else ())
            for i in _positions(fitting & self._one_by_one):
                if not self._fits(i, place, attached, ports):
                    fitting ^= 1 << i
        held = self._held.get(fitting)
        if held is None:
            held = _positions(fitting)
            if len(self._held) < _MOST_ANSWERS:
                self._held[fitting] = held
        return held

    def _fits(self, i: int, place: Place, attached: Collection[Handle], ports: TakenPorts) -> bool:
        """Return whether what only few groups have lets one on the place: lost places, volumes, ports."""
        pod, lost_places = self._pods[i], self._groups[i].lost_places
        if lost_places is not None and lost_places.loses(place.machine, is_coming=place.rank is Rank.IN_FLIGHT):
            return False
        if pod.attachments and not is_enough(place.free, asked(pod, attached)):
            return False
        return not (pod.host_ports and ports.meet(pod))

    def _suited(self, place: Place, wanted: int) -> int:
        """Return the groups that labels and taints of the place suit, as far as they are among those wanted."""
        key = self._alike_key(place)
        judged, suited = self._suits.get(key, (0, 0))
        while left := wanted & ~judged:
            i = (left & -left).bit_length() - 1
            alike = _bits(self._alike[i])
            judged |= alike
            if suits(self._pods[i], place.labels, place.taints):
                suited |= alike
        self._suits[key] = judged, suited
        return suited

    def _alike_key(self, place: Place) -> tuple[object, ...]:
        """Return the key of places that are alike in the labels and taints that matter to some group."""
        return frozenset(label for label in place.labels.items() if label[0] in self._keys), tuple(place.taints)


def _has_pod_of(group: PodGroup, owners: frozenset[str]) -> bool:
    return any(pod.owner is not None and pod.owner.uid in owners for pod in group.pods)


class _Sizes:
    """Groups in the order of what a pod of them asks of one resource."""

    def __init__(self, name: str, pods: Sequence[Pod]) -> None:
        asked_of_one = [pod.requests.get(name, _NOTHING) for pod in pods]
        self._order = sorted(range(len(pods)), key=asked_of_one.__getitem__)
        self._sizes = [asked_of_one[i] for i in self._order]
        self._steps = [0]
        for first in range(0, len(pods), _STEP):
            self._steps.append(self._steps[-1] | _bits(self._order[first : first + _STEP]))

    def up_to(self, free: int) -> int:
        """Return the groups, as bits, that ask for no more than what is free, or for nothing at all."""
        number = bisect_right(self._sizes, max(_NOTHING, free))
        step = number // _STEP
        return self._steps[step] | _bits(self._order[step * _STEP : number])


def _positions_by(keys: Iterable[T]) -> dict[T, list[int]]:
    """Return the positions of each key."""
    positions: dict[T, list[int]] = {}
    for i, key in enumerate(keys):
        positions.setdefault(key, []).append(i)
    return positions


def _bits(positions: Iterable[int]) -> int:
    """Return a number with these bits set; each comes once."""
    return sum(1 << i for i in positions)


def _positions(bits: int) -> list[int]:
    """Return which bits are set, ascending."""
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _keys(pod: Pod) -> Iterator[str]:
    """Yield the labels that decide where the pod may be."""
    if pod.system:
        yield LABEL_OS
    for requirements in (
        pod.node_selector,
        *pod.node_affinity,
        *(term for terms in pod.volume_terms for term in terms),
    ):
        yield from (requirement.key for requirement in requirements)
