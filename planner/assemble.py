"""Makes a packing problem of a round: pod classes, places with room, offers to buy, minimums and limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from planner.constraints import keep_away, untolerated, wants_node
from planner.objects import Pod, Taint
from planner.offers import Offer, PoolOffers
from planner.packing import Bin, Group, PackingProblem
from planner.pod_class import PodClass
from planner.room import Room, offering_key
from planner.supply import Place, Rank

_UNIT: Final = Decimal(10) ** 9
"""Prices have nine decimals at most."""
_RANK_OF_OFFER: Final = 2000
"""Less a priority of -1000 to 1000: offers come last, also those that cost nothing."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A class of pods and the pools that may buy for it."""

    pod_class: PodClass
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """What a bin of the problem stands for."""

    place: Place | None = None
    offer: Offer | None = None
    is_minimum: bool = False
    """Bought in any case, as a minimum asks for it."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """The problem, and what its indexes stand for."""

    problem: PackingProblem
    asks: tuple[Ask, ...]
    sources: tuple[Source, ...]
    resources: tuple[str, ...]
    """Names, by resource index."""


def may_hold(pod: Pod, labels: Mapping[str, str], taints: Sequence[Taint], free: Mapping[str, int]) -> bool:
    """Return whether one such pod may run on a node of these labels and taints with so much free."""
    return (
        all(free.get(name, 0) >= amount for name, amount in pod.requests.items())
        and wants_node(pod, labels)
        and untolerated(pod.tolerations, taints) is None
    )


def price_units(price: Decimal) -> int:
    """Return the price in billionths."""
    return int(price * _UNIT)


def price_of(units: int) -> Decimal:
    """Return the price that so many billionths are."""
    return Decimal(units) / _UNIT


def assemble(
    asks: Sequence[Ask],
    places: Iterable[Place],
    offers: Mapping[str, PoolOffers],
    room: Room,
    minimum: Sequence[tuple[Offer, int]],
) -> Assembly:
    """Return the problem of placing `asks`.

    `minimum` are offers that are bought in any case, with their numbers; `room` is what is left beside them.
    """
    draft = _Draft(asks)
    for place in places:
        if draft.could_fit(place.free):
            held = [i for i, ask in enumerate(asks) if _fits_place(ask, place)]
            limits = [draft.limit(("place", place.machine.name), 1)]
            draft.add(Source(place=place), held, Bin(draft.vector(place.free), 0, tuple(limits), place.rank))
    for offer, number in minimum:
        held = [i for i, ask in enumerate(asks) if _fits_offer(ask, offer)]
        limits = [draft.limit(("minimum", offer.pool.metadata.name, offering_key(offer)), number)]
        usable = Bin(draft.vector(offer.usable), 0, tuple(limits), Rank.MINIMUM)
        draft.add(Source(offer=offer, is_minimum=True), held, usable)
    for offer in buyable(offers):
        held = [i for i, ask in enumerate(asks) if _fits_offer(ask, offer)]
        limits = [draft.limit(key, left) for key, left in room.rows(offer)]
        price = price_units(offer.offering.price_per_hour)
        rank = _RANK_OF_OFFER - offer.priority
        draft.add(Source(offer=offer), held, Bin(draft.vector(offer.usable), price, tuple(limits), rank))
    return draft.assembly()


def buyable(offers: Mapping[str, PoolOffers]) -> list[Offer]:
    """Return the offers that nothing but limits stands in the way of."""
    return [
        offer for found in offers.values() if found.obstacle is None for offer in found.offers if offer.obstacle is None
    ]


class _Draft:
    """A problem in the making."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._resources = sorted({name for ask in asks for name in ask.pod_class.example.requests})
        self._least = {n: min(a.pod_class.example.requests.get(n, 0) for a in asks) for n in self._resources}
        self._rows: dict[object, int] = {}
        self._limits: list[int] = []
        self._bins: list[Bin] = []
        self._sources: list[Source] = []
        self._holders: list[set[int]] = [set() for _ in asks]

    def vector(self, amounts: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(max(0, amounts.get(name, 0)) for name in self._resources)

    def could_fit(self, free: Mapping[str, int]) -> bool:
        """Return whether there is room for the least of every resource: a quick no for full nodes."""
        return all(free.get(name, 0) >= amount for name, amount in self._least.items())

    def limit(self, key: object, most: int) -> int:
        if key not in self._rows:
            self._rows[key] = len(self._limits)
            self._limits.append(most)
        return self._rows[key]

    def add(self, source: Source, held: Sequence[int], new: Bin) -> None:
        if held:
            for i in held:
                self._holders[i].add(len(self._bins))
            self._bins.append(new)
            self._sources.append(source)

    def assembly(self) -> Assembly:
        groups = _groups(self._asks, self._resources, self._holders)
        problem = PackingProblem(groups, tuple(self._bins), tuple(self._limits))
        return Assembly(problem, tuple(self._asks), tuple(self._sources), tuple(self._resources))


def _fits_place(ask: Ask, place: Place) -> bool:
    pod = ask.pod_class.example
    if place.only_pool is not None and place.only_pool not in ask.pools:
        return False
    if not may_hold(pod, place.labels, place.taints, place.free):
        return False
    near = place.pods if pod.hostname_anti_affinity else place.wary
    return not any(keep_away(pod, other) for other in near)


def _fits_offer(ask: Ask, offer: Offer) -> bool:
    return offer.pool.metadata.name in ask.pools and may_hold(
        ask.pod_class.example, offer.labels, offer.taints, offer.usable
    )


def _groups(asks: Sequence[Ask], resources: Sequence[str], holders: Sequence[set[int]]) -> tuple[Group, ...]:
    examples = [ask.pod_class.example for ask in asks]
    apart: list[set[int]] = [set() for _ in asks]
    for i, pod in enumerate(examples):
        if pod.hostname_anti_affinity:
            for j, other in enumerate(examples):
                if keep_away(pod, other):
                    apart[i].add(j)
                    apart[j].add(i)
    return tuple(
        Group(
            demand=tuple(pod.requests.get(name, 0) for name in resources),
            count=len(ask.pod_class.pods),
            bins=frozenset(holders[i]),
            tier=pod.priority,
            per_node=1 if i in apart[i] else None,
            apart=frozenset(apart[i] - {i}),
        )
        for i, (ask, pod) in enumerate(zip(asks, examples, strict=True))
    )
