"""Makes a packing problem of a round: pod classes, places with room, offers to buy, minimums and limits."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from planner.packing.domains.domains import NO_LIMIT, Ceilings, Option, Share, Split, Wish, taken
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.domains.split import concerns, plain, split
from planner.packing.place_fit import PlaceFit, suits
from planner.packing.problem import Bin, Group, PackingProblem
from planner.scheduling.attachments import Handle, Slots, amount_of, asked, is_attachments
from planner.scheduling.conflicts import ports_meet
from planner.supply.limits import Limits, offering_key
from planner.supply.offers import Offer, PoolOffers
from planner.supply.places import Place, Rank
from planner.supply.pod_class import PodClass

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

    @property
    def looks(self) -> Place | Offer:
        """What has its labels and taints."""
        looks = self.place if self.place is not None else self.offer
        if looks is None:
            raise AssertionError(self)
        return looks


@dataclass(frozen=True, slots=True)
class Assembly:
    """The problem, and what its indexes stand for."""

    problem: PackingProblem
    """Its groups are `shares`."""
    asks: tuple[Ask, ...]
    shares: tuple[Share, ...]
    sources: tuple[Source, ...]
    resources: tuple[str, ...]
    """Names, by resource index."""
    split: Split
    wishes: tuple[Wish, ...]
    options: tuple[Option, ...] | None
    """Bins as domains see them; None where no class has to do with pods of other machines."""
    relaxed: PackingProblem
    """The same pods before they were split over domains, by class: what no split can beat."""

    def placed(self, unplaced: Mapping[int, int]) -> list[int]:
        """Return the number of pods with a place by class, given the items without one by share."""
        found = [0] * len(self.asks)
        for k, share in enumerate(self.shares):
            for ask, number in share.pods:
                found[ask] += number * (share.count - unplaced.get(k, 0))
        return found


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
    limits: Limits,
    minimum: Sequence[tuple[Offer, int]],
    *,
    pod_counts: PodCounts | None = None,
    ceilings: Ceilings | None = None,
) -> Assembly:
    """Return the problem of placing `asks`.

    Args:
        asks: the classes.
        places: machines with room.
        offers: what can be bought, by pool.
        limits: what is left of limits beside `minimum`.
        minimum: offers that are bought in any case, with their numbers.
        pod_counts: the pods that are there; none are, without it.
        ceilings: most pods of parts of classes.
    """
    builder = _ProblemBuilder(asks)
    fit = PlaceFit([(ask.pod_class.example, ask.pools) for ask in asks])
    for place in places:
        if builder.could_fit(place.free):
            attached = builder.slots.attached(place.pods)
            held = fit.held(place, attached)
            on = [builder.limit(("place", place.machine.name), 1)]
            free = builder.vector(place.free, held, attached)
            builder.add(Source(place=place), held, Bin(free, 0, tuple(on), place.rank))
    for offer, number in minimum:
        held = [i for i, ask in enumerate(asks) if fits_offer(ask, offer)]
        on = [builder.limit(("minimum", offer.pool.metadata.name, offering_key(offer)), number)]
        usable = Bin(builder.vector(offer.usable, held), 0, tuple(on), Rank.MINIMUM)
        builder.add(Source(offer=offer, is_minimum=True), held, usable)
    for offer in buyable(offers):
        held = [i for i, ask in enumerate(asks) if fits_offer(ask, offer)]
        on = [builder.limit(key, left) for key, left in limits.rows(offer)]
        price = price_units(offer.offering.price_per_hour)
        rank = _RANK_OF_OFFER - offer.priority
        builder.add(Source(offer=offer), held, Bin(builder.vector(offer.usable, held), price, tuple(on), rank))
    return builder.assembly(PodCounts() if pod_counts is None else pod_counts, ceilings or {})


def buyable(offers: Mapping[str, PoolOffers]) -> list[Offer]:
    """Return the offers that nothing but limits stands in the way of."""
    return [
        offer for found in offers.values() if found.obstacle is None for offer in found.offers if offer.obstacle is None
    ]


class _ProblemBuilder:
    """A problem in the making."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._demands = [asked(ask.pod_class.example) for ask in asks]
        self._resources = sorted({name for demand in self._demands for name in demand})
        self._least = {
            n: min(demand.get(n, 0) for demand in self._demands) for n in self._resources if not is_attachments(n)
        }
        self.slots = Slots(ask.pod_class.pods for ask in asks)
        self._rows: dict[object, int] = {}
        self._limits: list[int] = []
        self._bins: list[Bin] = []
        self._sources: list[Source] = []
        self._holders: list[list[int]] = [[] for _ in asks]

    def vector(
        self, amounts: Mapping[str, int], held: Sequence[int], attached: Collection[Handle] = ()
    ) -> tuple[int, ...]:
        """Return the amounts of the next bin, for classes that it may hold and volumes that are attached to it."""
        return tuple(
            self.slots.free(len(self._bins), name, max(0, amounts[name]), held, attached)
            if is_attachments(name) and name in amounts
            else max(0, amount_of(amounts, name))
            for name in self._resources
        )

    def could_fit(self, free: Mapping[str, int]) -> bool:
        """Return whether there is room for the least of every resource: a quick no for full nodes."""
        return all(amount_of(free, name) >= amount for name, amount in self._least.items())

    def limit(self, key: object, most: int) -> int:
        if key not in self._rows:
            self._rows[key] = len(self._limits)
            self._limits.append(most)
        return self._rows[key]

    def add(self, source: Source, held: Sequence[int], new: Bin) -> None:
        if held:
            for i in held:
                self._holders[i].append(len(self._bins))
            self._bins.append(new)
            self._sources.append(source)

    def assembly(self, pod_counts: PodCounts, ceilings: Ceilings) -> Assembly:
        asks, resources = tuple(self._asks), tuple(self._resources)
        rows, no_limit = self.slots.rows, self.slots.no_limit
        demands = [
            (*(demand.get(name, 0) for name in resources), *(row.asks.get(i, 0) for row in rows))
            for i, demand in enumerate(self._demands)
        ]
        if rows:
            self._bins = [
                replace(one, capacity=(*one.capacity, *(r.free if r.bin == b else no_limit for r in rows)))
                for b, one in enumerate(self._bins)
            ]
        wishes = [
            Wish(ask.pod_class.example, len(ask.pod_class.pods), demand)
            for ask, demand in zip(asks, demands, strict=True)
        ]
        bins, sources = tuple(self._bins), tuple(self._sources)
        daemons = {pod.uid: pod for source in sources if source.offer is not None for pod in source.offer.daemons}
        options = self._options() if concerns(wishes, pod_counts, daemons.values()) else None
        answer = (
            plain(wishes, self._holders)
            if options is None
            else split(wishes, options, self._holders, pod_counts, ceilings)
        )
        limits = tuple(self._limits)
        relaxed = PackingProblem(_classes(wishes, answer, self._holders), bins, limits)
        problem = relaxed
        if not answer.is_plain:
            problem = PackingProblem(_groups(wishes, answer), self._rationed(answer), limits, relaxed)
        return Assembly(
            problem=problem,
            asks=asks,
            shares=tuple(answer.shares),
            sources=sources,
            resources=(*resources, *(row.name for row in rows)),
            split=answer,
            wishes=tuple(wishes),
            options=options,
            relaxed=relaxed,
        )

    def _options(self) -> tuple[Option, ...]:
        return tuple(
            _option(source, one, min((self._limits[k] for k in one.limits), default=NO_LIMIT))
            for one, source in zip(self._bins, self._sources, strict=True)
        )

    def _rationed(self, answer: Split) -> tuple[Bin, ...]:
        if not answer.rations:
            return tuple(self._bins)
        return tuple(
            replace(one, capacity=(*one.capacity, *(ration.has(b) for ration in answer.rations)))
            for b, one in enumerate(self._bins)
        )


def _option(source: Source, one: Bin, copies: int) -> Option:
    looks = source.looks
    daemons = () if source.offer is None else source.offer.daemons
    return Option(
        looks.labels, looks.taints, one.capacity, one.price, copies, is_new=source.place is None, daemons=daemons
    )


def fits_offer(ask: Ask, offer: Offer) -> bool:
    """Return whether one pod of the class may run on a new machine of the offer, domains aside."""
    pod = ask.pod_class.example
    return (
        offer.pool.metadata.name in ask.pools
        and all(amount_of(offer.usable, name) >= amount for name, amount in asked(pod).items())
        and suits(pod, offer.labels, offer.taints)
        and not ports_meet(pod, offer.daemons)
    )


def _classes(wishes: Sequence[Wish], answer: Split, holders: Sequence[Sequence[int]]) -> tuple[Group, ...]:
    """Return one group for each class, with nothing but what holds whatever the split is."""
    return tuple(
        Group(
            demand=wish.demand,
            count=wish.count,
            bins=frozenset(holders[i]),
            tier=wish.pod.priority,
            per_node=1 if answer.shuns_itself[i] else None,
            apart=frozenset(answer.apart[i]),
        )
        for i, wish in enumerate(wishes)
    )


def _groups(wishes: Sequence[Wish], answer: Split) -> tuple[Group, ...]:
    """Return one group for each share."""
    of_ask: list[list[int]] = [[] for _ in wishes]
    for k, share in enumerate(answer.shares):
        for i, _ in share.pods:
            of_ask[i].append(k)
    groups: list[Group] = []
    for k, share in enumerate(answer.shares):
        limits = [most // number for i, number in share.pods if (most := answer.per_node[i]) is not None]
        groups.append(
            Group(
                demand=taken(share.pods, wishes, answer.rations),
                count=share.count,
                bins=share.bins,
                tier=max(wishes[i].pod.priority for i, _ in share.pods),
                per_node=min(limits, default=None),
                apart=frozenset(o for i, _ in share.pods for o in _apart(i, answer, of_ask) if o != k),
            )
        )
    return tuple(groups)


def _apart(i: int, answer: Split, of_ask: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the shares that may not be beside pods of class `i`; its own, where a machine may have only some of it."""
    for j in answer.apart_as_split[i]:
        yield from of_ask[j]
    if answer.per_node[i] is not None:
        yield from of_ask[i]
