"""The cost of a plan, and a lower bound: no plan that places the same pods can cost less.

The bound is the largest of three bounds, each valid by itself.

*Shares.* Give pods prices π_i ≥ 0 such that no set of pods that fits a machine with a price is
together worth more than that price (`planner.packing.pod_prices` proves it for its own). A plan that puts a_im
pods of class i on bought machine m and f_im on free machine m places n_i = Σ_m a_im + Σ_m f_im, so

    cost = Σ_m c_m ≥ Σ_m Σ_i π_i a_im = Σ_i π_i n_i - Σ_m Σ_i π_i f_im ≥ Σ_i π_i n_i - Σ_m V_m

where V_m is at least the value of what any one free machine can hold: the least, over resources
that all its pods need, of (amount · largest value per unit), and of the value of all pods that may be there.

*One class.* Of any class, at most k_b fit on one machine of kind b. Whatever else a plan does, its
machines cover what of the class does not fit on free ones: the cheapest way to cover a number by
machines that take k_b each, found by dynamic programming, costs no more than the plan.

*Steps.* A cost is a sum of prices, and so a multiple of their greatest common divisor, and one of
the few smallest such sums. The bound is raised to the next of them.

Where priorities choose, the bound is of the plans that they allow (`planner.packing.choice.bound`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from heapq import heappop, heappush
from math import gcd
from typing import Final

from planner.model.plan import PlannedRequest
from planner.packing.alike import as_one
from planner.packing.assemble import Assembly, buyable
from planner.packing.choice.bound import bounding
from planner.packing.index import ProblemIndex
from planner.packing.pod_prices import SCALE, PodPrices, pod_prices
from planner.packing.problem import PackedNode, Packing, PackingProblem
from planner.supply.machine_kind import MachineKind, PoolKinds
from planner.supply.places import Place
from planner.supply.sums.price_units import price_of, price_units

_COVER_AT_MOST: Final = 1000
"""Pods of a class up to which its cheapest cover is worked out; above, its share price is as good."""
_CLASSES_COVERED: Final = 8
_FEW_LOOKS: Final = 1_000
"""Classes times bins: their shares take some 50 ms."""
_MOST_LOOKS: Final = 40_000
"""Their shares take some seconds."""
_SUMS: Final = 3000
"""Sums of prices that are looked at to find the next possible cost."""


def lower_bound(problem: PackingProblem, placed: Sequence[int], proven: int = 0) -> int:
    """Return a cost per hour, in billionths, below which no plan places `placed` pods of each group.

    What is `proven` of it already makes looking at shares needless, but where that takes no time: a packer that
    proves anything has done it. With very many classes they are not looked at at all.
    """
    index = ProblemIndex(problem)
    value = [alone * n for alone, n in zip(index.alone, placed, strict=True)]
    least = proven
    if len(index.paid) * sum(map(bool, placed)) <= (_FEW_LOOKS if proven else _MOST_LOOKS):
        prices = pod_prices(index, placed)
        value = [pod * n for pod, n in zip(prices.pod, placed, strict=True)]
        least = max(least, _by_shares(index, prices, placed))
    least = max(least, max((_by_class(index, i, placed[i]) for i in _weighty(value, placed)), default=0))
    usable = {index.price[b] for i, n in enumerate(placed) if n for b in index.paid_bins[i]}
    usable = sorted(usable | {one.price for one in problem.top_ups if one.price})
    return _next_sum(least, usable)


def _weighty(value: Sequence[float], placed: Sequence[int]) -> list[int]:
    """Return the few classes that are worth most: only theirs can be the largest bound of one class."""
    countable = [i for i, n in enumerate(placed) if 0 < n <= _COVER_AT_MOST]
    return sorted(countable, key=lambda i: -value[i])[:_CLASSES_COVERED]


def _by_shares(index: ProblemIndex, prices: PodPrices, placed: Sequence[int]) -> int:
    total = sum(prices.pod[i] * n for i, n in enumerate(placed))
    free = sum(_free_value(index, b, prices, placed) * _copies(index, b) for b in index.free)
    # Pods that no free machine can hold are paid for in full.
    tied = sum(prices.pod[i] * n for i, n in enumerate(placed) if index.problem.groups[i].bins.isdisjoint(index.free))
    return -(-max(0, total - free, tied) // SCALE)


def _free_value(index: ProblemIndex, b: int, prices: PodPrices, placed: Sequence[int]) -> int:
    members = [i for i in index.members[b] if placed[i]]
    if not members:
        return 0
    value = sum(prices.pod[i] * min(placed[i], index.fitting(i, b)) for i in members)
    for r, amount in enumerate(index.capacity[b]):
        needs = [dict(index.demand[i]).get(r, 0) for i in members]
        if all(needs):
            densest = max(-(-prices.pod[i] // need) for i, need in zip(members, needs, strict=True))
            value = min(value, densest * amount)
    return value


def _copies(index: ProblemIndex, b: int) -> int:
    return index.most(b, index.problem.limits)


def _by_class(index: ProblemIndex, i: int, n: int) -> int:
    free = sum(index.fitting(i, b) * min(n, _copies(index, b)) for b in index.free if b in index.problem.groups[i].bins)
    kinds = {(index.fitting(i, b), index.price[b]) for b in index.paid_bins[i]}
    if not kinds or n <= free:
        return 0
    useful = [(f, c) for f, c in kinds if not any((g >= f and d <= c) and (g, d) != (f, c) for g, d in kinds)]
    cover = [0]
    for k in range(1, n - free + 1):
        cover.append(min(price + cover[max(0, k - fits)] for fits, price in useful))
    return cover[-1]


def _next_sum(least: int, prices: Sequence[int]) -> int:
    """Return the smallest sum of prices that is at least `least`, or something between the two."""
    if least <= 0 or not prices:
        return max(0, least)
    step = gcd(*prices)
    least = -(-least // step) * step
    heap, seen = [0], {0}
    for _ in range(_SUMS):
        smallest = heappop(heap)
        if smallest >= least:
            return smallest
        for price in prices:
            if smallest + price not in seen:
                seen.add(smallest + price)
                heappush(heap, smallest + price)
    return max(least, heap[0])


@dataclass(frozen=True, slots=True)
class Cost:
    """Per hour."""

    total: Decimal
    """Of all machines that are bought."""
    lower_bound: Decimal
    """No plan that places the same pods and keeps the same minimums costs less."""

    @property
    def is_optimal(self) -> bool:
        """Whether the two are equal."""
        return self.total == self.lower_bound


def cost_of(
    requests: Sequence[PlannedRequest],
    assembly: Assembly,
    packing: Packing,
    minimum: Sequence[tuple[MachineKind, int]],
    top_up: Sequence[MachineKind],
    *,
    pool_kinds: Mapping[str, PoolKinds],
    is_parted: bool = False,
) -> Cost:
    """Return the cost of `requests`.

    Minimums of server types have to be bought whatever else is. Where each can come from one kind
    only, its cost stands beside the bound for the pods that are not on it. Else a machine that pods
    need in another location may meet it by the way, and the larger of the two bounds holds. Of a
    pool's own minimum the bound counts only what the plan buys for it alone, and that only where no
    pod could have made a machine needed. Where groups were split over domains, the bound is that of the
    pods before they were: another split might have cost less.

    Where groups `is_parted` by namespaces, rows that are alike are one to the bound: of thousands it would take long.
    """
    total = sum((request.price_per_hour for request in requests), Decimal(0))
    forced = sum(price_units(kind.offering.price_per_hour) * number for kind, number in minimum)
    placed = assembly.placed(packing.unplaced)
    # A split leaves out pods that no domain takes, and what is proven is proven for all.
    proven = packing.proven if assembly.split.is_plain or assembly.places_all(packing.unplaced) else 0
    is_forced_apart = _have_one_offer_each(minimum, pool_kinds)
    problem = assembly.relaxed if is_forced_apart else _with_priced_minimum(assembly)
    if is_parted:
        joined = as_one(problem)
        problem, placed = joined.problem, [sum(placed[i] for i in rows) for rows in joined.members]
    if is_forced_apart:
        bound = forced + _bound(problem, packing.nodes, placed, proven)
    else:
        bound = max(forced, _bound(problem, packing.nodes, placed))
    if not assembly.given.groups:
        bound += sum(price_units(kind.offering.price_per_hour) for kind in top_up)
    return Cost(total, price_of(bound))


def _bound(problem: PackingProblem, nodes: Sequence[PackedNode], placed: Sequence[int], proven: int = 0) -> int:
    whole, parts = bounding(problem, nodes)
    return max(lower_bound(whole, placed, proven), sum(lower_bound(part, placed) for part in parts))


def _have_one_offer_each(minimum: Sequence[tuple[MachineKind, int]], pool_kinds: Mapping[str, PoolKinds]) -> bool:
    types = {(kind.pool.metadata.name, kind.offering.server_type.lower()) for kind, _ in minimum}
    kinds_by_type = Counter(
        (kind.pool.metadata.name, kind.offering.server_type.lower()) for kind in buyable(pool_kinds)
    )
    return all(kinds_by_type[type_] == 1 for type_ in types)


def _with_priced_minimum(assembly: Assembly) -> PackingProblem:
    """Return the problem with the machines of minimums at their price instead of free."""
    bins = tuple(
        replace(one, price=price_units(kind.offering.price_per_hour))
        if not isinstance(kind, Place) and kind.is_minimum
        else one
        for one, kind in zip(assembly.relaxed.bins, assembly.given.kinds, strict=True)
    )
    return replace(assembly.relaxed, bins=bins)
