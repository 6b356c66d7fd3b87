"""Makes a packing problem of a round: pod groups, places with room, kinds of machines to buy, minimums and limits."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import gcd
from typing import Final

from planner.objects.predicates import suits
from planner.packing.choice.turns import by_price_alone, with_turns
from planner.packing.domains.domains import (
    NO_LIMIT,
    Ceilings,
    PackingInput,
    Split,
    concerns,
    daemons_to_come,
    plain,
    taken,
)
from planner.packing.domains.joint import in_pool
from planner.packing.domains.levels import Levels
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.domains.split import split
from planner.packing.place_fit import PlaceFit
from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem, TopUp
from planner.scheduling.attachments import Handle, Slots, amount_of, asked, is_attachments, is_enough
from planner.scheduling.conflicts import ports_meet
from planner.supply.limits import Limits, offering_key
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.places import Place, Rank
from planner.supply.pod_group import PodGroup
from planner.supply.sums.pool_sums import amounts_of
from planner.supply.sums.price_units import price_units
from planner.supply.type_facts import facts_of

_RANK_TO_BUY: Final = 2000
"""Less a priority of -1000 to 1000: kinds to buy come last, also those that cost nothing."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """The problem, with the groups and kinds that its positions stand for."""

    given: PackingInput
    problem: PackingProblem
    """Its groups are the shares of `split`, its bins the kinds of `given`."""
    resources: tuple[str, ...]
    """Names, by resource index."""
    split: Split
    relaxed: PackingProblem
    """The same pods before they were split over domains, by group: no split can cost less."""
    is_related: bool
    """Whether any group has to do with pods of other machines."""
    minimum: tuple[MachineKind, ...]
    """Machines that minimums of server types ask for."""
    top_up: tuple[tuple[MachineKind, int], ...]
    """Machines that pools keep beyond them, with numbers; those for pods are among them."""

    def placed(self, unplaced: Mapping[int, int]) -> list[int]:
        """Return the number of pods with a place by group, given the items without one by share."""
        placed = [0] * len(self.given.groups)
        for k, share in enumerate(self.split.shares):
            for i, number in share.pods:
                placed[i] += number * (share.count - unplaced.get(k, 0))
        return placed

    def places_all(self, unplaced: Mapping[int, int]) -> bool:
        """Return whether each pod has a place: neither the split nor the packing left one out."""
        return all(n == group.count for n, group in zip(self.placed(unplaced), self.given.groups, strict=True))

    def split_as(self, split: Split) -> "Assembly":
        """Return the same problem with its groups split otherwise."""
        bins, limits = self.given.bins, self.relaxed.limits
        rows = _rows(self.given, split)
        problem = PackingProblem(rows, _rationed(bins, split), limits, self.relaxed, self.relaxed.top_ups)
        return replace(self, split=split, problem=problem)

    def by_price_alone(self) -> "Assembly":
        """Return the same problem without any priority but between equally dear kinds."""
        problem, relaxed = by_price_alone(self.problem), by_price_alone(self.relaxed)
        return replace(self, given=replace(self.given, bins=relaxed.bins), problem=problem, relaxed=relaxed)

    def unused_minimum(self, packing: Packing) -> list[MachineKind]:
        """Return the machines that a minimum asks for beside those of the packing.

        What pods are on counts towards the minimum of its type, wherever it is bought.
        """
        kinds = [kind for node in packing.nodes if not isinstance(kind := self.given.kinds[node.bin], Place)]
        met = Counter(_type_of(kind) for kind in kinds)
        unused: list[MachineKind] = []
        for kind in self.minimum:
            if met[_type_of(kind)] > 0:
                met[_type_of(kind)] -= 1
            else:
                unused.append(kind)
        return unused

    def idle_machines(self, packing: Packing) -> list[MachineKind]:
        """Return the machines that are bought beside those of the packing, as minimums ask for them."""
        idle = self.unused_minimum(packing)
        for (kind, number), row in zip(self.top_up, self.relaxed.top_ups, strict=True):
            idle += [kind] * (number - sum(node.bin in row.bins for node in packing.nodes))
        return idle

    def priced(self, b: int) -> MachineKind | None:
        """Return the kind of bin `b` if its machines are bought for pods alone: none is there, and no minimum asks."""
        kind = self.given.kinds[b]
        return None if isinstance(kind, Place) or kind.is_minimum else kind


def _type_of(kind: MachineKind) -> tuple[str, str]:
    return kind.pool.metadata.name, kind.offering.server_type.lower()


def assemble(
    groups: Sequence[PodGroup],
    places: Iterable[Place],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
    minimum: Sequence[tuple[MachineKind, int]],
    *,
    pod_counts: PodCounts | None = None,
    ceilings: Ceilings | None = None,
    levels: Levels | None = None,
    top_up: Sequence[tuple[MachineKind, int]] = (),
) -> Assembly:
    """Return the problem of placing `groups`.

    Args:
        groups: with the pools that may buy for them.
        places: machines with room.
        pool_kinds: machine kinds by pool.
        limits: as they are left beside `minimum`.
        minimum: kinds that are bought in any case, with their numbers.
        pod_counts: the pods that are there; none are, without it.
        ceilings: most pods of parts of groups.
        levels: pods that each machine has at least of groups that are spread over machines.
        top_up: machines that pools keep beyond `minimum`, with numbers.
    """
    builder = _ProblemBuilder(groups, minimum, top_up)
    fit = PlaceFit(groups)
    for place in places:
        if builder.could_fit(place.free):
            attached = builder.slots.attached((*place.pods, *place.moving))
            held = fit.held(place, attached)
            on = [builder.limit(("place", place.machine.name), 1)]
            free = builder.vector(place.free, held, attached)
            builder.add(place, held, BinRow(free, 0, tuple(on), place.rank))
    for kind, number in minimum:
        of_minimum = builder.limit(("minimum", kind.pool.metadata.name, offering_key(kind)), number)
        for same in (kind, *_as_good(kind, pool_kinds)):
            held = [i for i, group in enumerate(groups) if fits_kind(group, same)]
            # What else the machines count towards, their number is taken off already.
            probed = [] if same is kind else [row for row in limits.rows(same) if row.key == offering_key(same)]
            on = [of_minimum, *(builder.limit(row.key, row.left) for row in probed)]
            usable = BinRow(builder.vector(same.usable, held), 0, tuple(on), Rank.MINIMUM)
            builder.add(replace(same, is_minimum=True), held, usable)
    is_held_back = any(group.held_back for group in groups)
    for kind in buyable(pool_kinds):
        held = [i for i, group in enumerate(groups) if fits_kind(group, kind)]
        if is_held_back:
            held = [i for i in held if groups[i].buys_in(kind.pool.metadata.name)]
        on = {builder.limit(row.key, row.left): row.amount for row in limits.rows(kind)}
        amounts = () if set(on.values()) <= {1} else tuple(on.values())
        price = price_units(kind.offering.price_per_hour)
        rank = _RANK_TO_BUY - kind.priority
        builder.add(kind, held, BinRow(builder.vector(kind.usable, held), price, tuple(on), rank, amounts))
    return builder.assembly(PodCounts() if pod_counts is None else pod_counts, ceilings or {}, levels or {})


def _as_good(kind: MachineKind, pool_kinds: Mapping[str, PoolKinds]) -> Iterator[MachineKind]:
    """Yield the kinds that meet a minimum as well as this one: of the same type, in other locations.

    They count as much towards limits in cores, memory and money, as the minimum's own machines are taken off these.
    """
    amounts = amounts_of(facts_of(kind.offering))
    for other in buyable({kind.pool.metadata.name: pool_kinds[kind.pool.metadata.name]}):
        is_same = other.offering.server_type.lower() == kind.offering.server_type.lower()
        if is_same and amounts_of(facts_of(other.offering)) == amounts and other is not kind:
            yield other


def buyable(pool_kinds: Mapping[str, PoolKinds]) -> list[MachineKind]:
    """Return the kinds that only limits block."""
    return [
        kind for found in pool_kinds.values() if found.obstacle is None for kind in found.kinds if kind.obstacle is None
    ]


class _ProblemBuilder:
    """A problem in the making."""

    def __init__(
        self,
        groups: Sequence[PodGroup],
        minimum: Sequence[tuple[MachineKind, int]],
        top_up: Sequence[tuple[MachineKind, int]],
    ) -> None:
        self._groups = tuple(groups)
        self._minimum = tuple(kind for kind, number in minimum for _ in range(number))
        self._top_up = tuple(top_up)
        self._demands = [asked(group.example) for group in groups]
        self._resources = sorted({name for demand in self._demands for name in demand})
        self._least = {
            n: min(demand.get(n, 0) for demand in self._demands) for n in self._resources if not is_attachments(n)
        }
        self.slots = Slots(group.pods for group in groups)
        self._rows: dict[object, int] = {}
        self._limits: list[int] = []
        self._bins: list[BinRow] = []
        self._kinds: list[MachineKind | Place] = []
        self._bins_of: dict[tuple[int, ...], list[int]] = {}
        """Bins by the groups that they may hold: thousands of places have a few such sets."""

    def vector(
        self, amounts: Mapping[str, int], held: Sequence[int], attached: Collection[Handle] = ()
    ) -> tuple[int, ...]:
        """Return the amounts of the next bin, for groups that it may hold and volumes that are attached to it."""
        return tuple(
            self.slots.free(len(self._bins), name, max(0, amounts[name]), held, attached)
            if is_attachments(name) and name in amounts
            else max(0, amount_of(amounts, name))
            for name in self._resources
        )

    def could_fit(self, free: Mapping[str, int]) -> bool:
        """Return whether there is room for the least of every resource: a quick no for full nodes."""
        return is_enough(free, self._least)

    def limit(self, key: object, most: int) -> int:
        if key not in self._rows:
            self._rows[key] = len(self._limits)
            self._limits.append(most)
        return self._rows[key]

    def add(self, kind: MachineKind | Place, held: Sequence[int], row: BinRow) -> None:
        if held:
            self._bins_of.setdefault(tuple(held), []).append(len(self._bins))
            self._bins.append(row)
            self._kinds.append(kind)

    def assembly(self, pod_counts: PodCounts, ceilings: Ceilings, levels: Levels) -> Assembly:
        self._in_small_numbers()
        given, limits = self._given(), tuple(self._limits)
        daemons = {pod.uid: pod for kind in given.kinds for pod in daemons_to_come(kind)}
        is_related = concerns(given.groups, pod_counts, daemons.values())
        answer = split(given, pod_counts, ceilings, levels) if is_related else plain(given)
        top_ups = tuple(
            TopUp(in_pool(given, kind), number, price_units(kind.offering.price_per_hour))
            for kind, number in self._top_up
        )
        relaxed = PackingProblem(_unsplit_rows(given, answer), given.bins, limits, top_ups=top_ups)
        resources = (*self._resources, *(row.name for row in self.slots.rows))
        assembly = Assembly(given, relaxed, resources, answer, relaxed, is_related, self._minimum, self._top_up)
        return assembly if answer.is_plain else assembly.split_as(answer)

    def _given(self) -> PackingInput:
        rows, no_limit = self.slots.rows, self.slots.no_limit
        demands = (
            (*(demand.get(name, 0) for name in self._resources), *(row.asks.get(i, 0) for row in rows))
            for i, demand in enumerate(self._demands)
        )
        if rows:
            self._bins = [
                replace(one, capacity=(*one.capacity, *(r.free if r.bin == b else no_limit for r in rows)))
                for b, one in enumerate(self._bins)
            ]
        holders = self._holders()
        sets = {id(one): frozenset(one) for one in holders}
        return PackingInput(
            groups=self._groups,
            demands=tuple(demands),
            holders=holders,
            holder_sets=tuple(sets[id(one)] for one in holders),
            kinds=tuple(self._kinds),
            bins=with_turns(self._bins, self._kinds, sets.values()),
            copies=tuple(one.most(self._limits, NO_LIMIT) for one in self._bins),
            limits=tuple(self._limits),
        )

    def _in_small_numbers(self) -> None:
        """Divide limits by what all amounts of them are multiples of: they stay exact, and sums of them small."""
        if not any(one.amounts for one in self._bins):
            return
        units = [0] * len(self._limits)
        for row in self._bins:
            for k, amount in row.taken:
                units[k] = gcd(units[k], amount)
        self._limits = [left // max(1, unit) for left, unit in zip(self._limits, units, strict=True)]
        self._bins = [
            replace(one, amounts=tuple(amount // units[k] for k, amount in one.taken)) if one.amounts else one
            for one in self._bins
        ]

    def _holders(self) -> tuple[tuple[int, ...], ...]:
        """Return the bins of each group, ascending; groups that the same bins may hold share one object."""
        sets: list[list[int]] = [[] for _ in self._groups]
        for s, held in enumerate(self._bins_of):
            for i in held:
                sets[i].append(s)
        bins = list(self._bins_of.values())
        together = {one: tuple(sorted(chain.from_iterable(bins[s] for s in one))) for one in set(map(tuple, sets))}
        return tuple(together[tuple(one)] for one in sets)


def _rationed(bins: tuple[BinRow, ...], answer: Split) -> tuple[BinRow, ...]:
    if not answer.rations:
        return bins
    return tuple(
        replace(one, capacity=(*one.capacity, *(ration.has(b) for ration in answer.rations)))
        for b, one in enumerate(bins)
    )


def fits_kind(group: PodGroup, kind: MachineKind) -> bool:
    """Return whether one pod of the group may run on a new machine of the kind, domains aside."""
    pod = group.example
    return (
        kind.pool.metadata.name in group.pools
        and not is_refused(group, kind)
        and is_enough(kind.usable, asked(pod))
        and suits(pod, kind.labels, kind.taints)
        and not ports_meet(pod, kind.daemons)
    )


def is_refused(group: PodGroup, kind: MachineKind) -> bool:
    """Return whether the scheduler did not bind such pods on such a machine, so that none is bought for them."""
    lost_places = group.lost_places
    return lost_places is not None and lost_places.stops_buying(kind.pool.metadata.name, kind.offering.server_type)


def _unsplit_rows(given: PackingInput, answer: Split) -> tuple[GroupRow, ...]:
    """Return one row for each group, with only the rules that hold for every split."""
    return tuple(
        GroupRow(
            demand=given.demands[i],
            count=group.count,
            bins=given.holder_sets[i],
            tier=group.tier,
            per_node=1 if answer.shuns_itself[i] else answer.most_together.get(i),
            apart=frozenset(answer.apart[i]),
        )
        for i, group in enumerate(given.groups)
    )


def _rows(given: PackingInput, answer: Split) -> tuple[GroupRow, ...]:
    """Return one row for each share."""
    shares_of: list[list[int]] = [[] for _ in given.groups]
    for k, share in enumerate(answer.shares):
        for i, _ in share.pods:
            shares_of[i].append(k)
    rows: list[GroupRow] = []
    for k, share in enumerate(answer.shares):
        limits = [most // number for i, number in share.pods if (most := answer.per_node[i]) is not None]
        rows.append(
            GroupRow(
                demand=taken(share.pods, given.demands, answer.rations),
                count=share.count,
                bins=share.bins,
                tier=max(given.groups[i].tier for i, _ in share.pods),
                per_node=min(limits, default=None),
                apart=frozenset(o for i, _ in share.pods for o in _apart(i, answer, shares_of) if o != k),
            )
        )
    return tuple(rows)


def _apart(i: int, answer: Split, shares_of: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the shares that may not be beside pods of group `i`; its own, where a machine may have only some of it."""
    for j in answer.apart_as_split[i]:
        yield from shares_of[j]
    if answer.per_node[i] is not None:
        yield from shares_of[i]
