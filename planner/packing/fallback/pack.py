"""The packer that stands in for the optimiser: free machines are filled, others bought by best fit, few pods exactly.

It needs no library and no start, so a round has a plan while the optimiser is loaded, and when it fails.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from planner.packing.fallback.best_fit import Taste, Work, buy, fill
from planner.packing.fallback.exact import MOST_PODS, cheapest_sharing
from planner.packing.index import ProblemIndex
from planner.packing.pod_prices import pod_prices
from planner.packing.problem import Packing, PackingProblem

_TASTES: Final = tuple(Taste(sharpness) for sharpness in (6.0, 2.0, 20.0, 0.0, 60.0))
"""Which of them is the best differs from problem to problem."""
_GROUPS: Final = 1_500
"""Times tastes: with very many groups fewer are tried, so that a round stays short."""
_TRIES: Final = 3
"""With those first that the try before left out: others have machines to choose from that they have not."""


def is_small(problem: PackingProblem) -> bool:
    """Return whether the pods are so few that `pack` looks at every way to share the machines it buys for them."""
    return sum(group.count for group in problem.groups) <= MOST_PODS


def pack(problem: PackingProblem) -> Packing:
    """Return a packing: as many pods as it finds room for, those of high tiers first, at little cost."""
    if problem.known is not None or not problem.groups:
        return problem.known or Packing()
    index = ProblemIndex(problem)
    best = _packed(index, _filled(index, without_paid_first=True))
    if all(index.paid_bins) or not any(index.paid_bins[i] for i in best.unplaced):
        return best
    # Limits leave out pods for which machines could be bought: perhaps of a higher tier than those that came first.
    other = _packed(index, _filled(index, without_paid_first=False))
    return min(best, other, key=lambda one: _by_tier(index, one.unplaced))


def _packed(index: ProblemIndex, start: Work) -> Packing:
    """Return the packing that goes on from filled free machines."""
    if not _are_left_out(index, start):
        return Packing(tuple(start.nodes), _unplaced(start))
    built = _bought(index, start)
    if _are_left_out(index, built):
        return Packing(tuple(built.nodes), _unplaced(built))
    to_buy_for = [n if index.paid_bins[i] else 0 for i, n in enumerate(start.left)]
    is_finished, cheaper = cheapest_sharing(index, to_buy_for, index.cost(built.nodes))
    # With free machines, other pods might have been the ones to buy for.
    proves = is_finished and not start.nodes and index.problem.relaxed is None
    if cheaper is not None:
        limits_left = index.limits_after(cheaper, start.limits_left)
        if min(limits_left, default=0) < 0:
            proves = False
        else:
            built = Work(built.left, limits_left, [*start.nodes, *cheaper])
    return Packing(tuple(built.nodes), _unplaced(built), proven=index.cost(built.nodes) if proves else 0)


def _bought(index: ProblemIndex, start: Work) -> Work:
    """Return the best of some ways to buy machines for those that free ones leave."""
    prices = pod_prices(index, start.left, rough=True)

    def bought(taste: Taste) -> Work:
        buy(index, work := start.copy(), prices, taste)
        return work

    works = [bought(taste) for taste in _TASTES[: max(1, _GROUPS // sum(map(bool, start.left)))]]
    last = min(works, key=lambda work: _score(index, work))
    if _are_left_out(index, last):
        works.append(bought(Taste(is_scarce=True, is_number_wanted=True)))
        first = frozenset[int]()
        for _ in range(_TRIES):
            first |= _unplaced(last).keys()
            works.append(last := bought(Taste(is_scarce=True, first=first)))
    return min(works, key=lambda work: _score(index, work))


def _filled(index: ProblemIndex, *, without_paid_first: bool) -> Work:
    """Return the free machines filled by the order of pods, of some, that saves most.

    So a tight plan whose machines are on their way fits onto them again. With `without_paid_first`, pods that have no
    other place come before all that a machine can be bought for, whatever their tiers.
    """
    urgent = [without_paid_first and not bins for bins in index.paid_bins]

    def filled(order: Sequence[int]) -> Work:
        work = Work(list(index.counts), list(index.problem.limits), [])
        fill(index, work, order)
        return work

    def missed(work: Work) -> tuple[float, ...]:
        urgently = {i: n for i, n in _unplaced(work).items() if urgent[i]}
        worth = {i: n * index.alone[i] for i, n in _unplaced(work).items()}
        return *_by_tier(index, urgently), *_by_tier(index, worth), sum(work.left)

    return min(map(filled, _orders(index, urgent) if index.free else [()]), key=missed)


def _orders(index: ProblemIndex, urgent: Sequence[bool]) -> list[list[int]]:
    """Return the groups in some orders: those that can hardly be elsewhere first, large, dear or small ones."""
    largest = [max(column) or 1 for column in zip(*(index.capacity[b] for b in index.free), strict=True)]
    size = [max((d / largest[r] for r, d in demand), default=0.0) for demand in index.demand]
    few = [len(group.bins) for group in index.problem.groups]
    sizes = (
        [(n, -one) for n, one in zip(few, size, strict=True)],
        [-one for one in size],
        [-one for one in index.alone],
        size,
    )
    return [sorted(range(len(size)), key=lambda i: (not urgent[i], -index.tier[i], by[i])) for by in sizes]


def _are_left_out(index: ProblemIndex, work: Work) -> bool:
    """Return whether pods have no place for which machines could be bought, if limits allow."""
    return any(n and bins for n, bins in zip(work.left, index.paid_bins, strict=True))


def _unplaced(work: Work) -> dict[int, int]:
    return {i: n for i, n in enumerate(work.left) if n}


def _score(index: ProblemIndex, work: Work) -> tuple[object, ...]:
    """Return the score of an answer, the smaller the better: pods left out by tier, cost, number of machines."""
    return _by_tier(index, _unplaced(work)), index.cost(work.nodes), len(work.nodes)


def _by_tier(index: ProblemIndex, left: Mapping[int, float]) -> tuple[float, ...]:
    """Return the sum of each tier, the highest tier first; `left` is by group."""
    sums = dict.fromkeys(sorted(set(index.tier), reverse=True), 0.0)
    for i, n in left.items():
        sums[index.tier[i]] += n
    return tuple(sums.values())
