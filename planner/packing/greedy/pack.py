"""The greedy packer: free capacity first, then the best of several constructions, then improvement.

It is a fallback and a first answer for any better packer behind the same seat (`planner.packing.problem.Packer`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from planner.packing.greedy.construct import MOST_CLASSES, Taste, Work, by_loss, by_nearest, by_number, by_type, trimmed
from planner.packing.greedy.exact import MOST_PODS, cheapest_sharing
from planner.packing.greedy.improve import improve
from planner.packing.greedy.index import Counts, ProblemIndex
from planner.packing.greedy.pod_prices import PodPrices, pod_prices
from planner.packing.problem import Packing, PackingProblem

_LANES: Final = 12
"""Machines compared before one is bought, where there are few classes of pods."""
_FEWEST_LANES: Final = 4
_LANE_WORK: Final = 600_000
"""Classes squared times lanes: with many classes, fewer machines are compared, so that a round stays short."""
_SHARPNESS: Final = (6.0, 20.0, 60.0, 2.0)
"""Measured: which of them is the best differs from problem to problem, by up to 4 % of the cost."""
_FEWEST_STARTS: Final = 3
_ROUNDS_FOR_THE_LEFT: Final = 6
_PUSH: Final = 30.0
"""How much more important a pod class becomes with each try that leaves some of its pods out."""
_START_WORK: Final = 1_000
"""Classes times constructions."""
_MOST_NODES: Final = 100_000
"""Copies of one free bin that are opened at most; a pool cannot have more machines."""


def is_small(problem: PackingProblem) -> bool:
    """Return whether the pods are so few that `pack` looks at every way to share the machines it buys for them."""
    return sum(group.count for group in problem.groups) <= MOST_PODS


def pack(problem: PackingProblem) -> Packing:
    """Return a packing: as many pods as it finds room for, those of high tiers first, at little cost.

    Source: the loss-based greedy of this project's study of packing, without its column generation.
    """
    if not problem.groups:
        return Packing()
    if problem.known is not None:
        return problem.known
    index = ProblemIndex(problem)
    best = _packed(index, without_paid_first=True)
    if all(index.paid_bins) or not any(index.paid_bins[i] for i in best.unplaced):
        return best
    # Limits leave out pods for which machines could be bought: perhaps of a higher tier than those that came first.
    other = _packed(index, without_paid_first=False)
    return min(best, other, key=lambda one: _missing(index, one.unplaced))


def _packed(index: ProblemIndex, *, without_paid_first: bool) -> Packing:
    problem = index.problem
    start = Work(list(index.counts), list(problem.limits), [])
    fill_free(index, start, without_paid_first=without_paid_first)
    if not any(n and index.paid_bins[i] for i, n in enumerate(start.left)):
        return Packing(tuple(start.nodes), {i: n for i, n in enumerate(start.left) if n})
    if sum(map(bool, start.left)) > MOST_CLASSES:
        by_nearest(index, start)
        return Packing(tuple(trimmed(index, start)), {i: n for i, n in enumerate(start.left) if n})
    fine = pod_prices(index, start.left)
    built = _built(index, start, fine)
    unplaced = {i: n for i, n in enumerate(built.left) if n}
    if not any(index.paid_bins[i] for i in unplaced):
        to_buy_for = [n if index.paid_bins[i] else 0 for i, n in enumerate(start.left)]
        is_finished, cheaper = cheapest_sharing(index, to_buy_for, index.cost(built.nodes))
        # With free machines, other pods might have been the ones to buy for.
        proves = is_finished and not start.nodes and problem.relaxed is None
        if cheaper is not None and min(limits_left := index.limits_after(cheaper, start.limits_left), default=0) >= 0:
            built, cheaper = Work(built.left, limits_left, [*start.nodes, *cheaper]), None
        if is_finished and cheaper is None:
            nodes = trimmed(index, built)
            return Packing(tuple(nodes), unplaced, proven=index.cost(nodes) if proves else 0)
    return Packing(tuple(trimmed(index, improve(index, built, fine))), unplaced)


def _built(index: ProblemIndex, start: Work, fine: PodPrices) -> Work:
    """Return the best of all constructions."""
    classes = max(1, sum(1 for n in start.left if n))
    lanes = max(_FEWEST_LANES, min(_LANES, _LANE_WORK // classes**2))
    rough = pod_prices(index, start.left, rough=True)

    def constructed(build: Callable[[Work], None]) -> Work:
        work = Work(list(start.left), list(start.limits_left), list(start.nodes))
        build(work)
        return work

    def with_taste(prices: PodPrices, taste: Taste) -> Work:
        return constructed(lambda work: by_loss(index, work, prices, taste, lanes))

    starts = [(prices, sharpness) for sharpness in _SHARPNESS for prices in (fine, rough)]
    number = max(_FEWEST_STARTS, _START_WORK // classes)
    works = [with_taste(prices, Taste(sharpness)) for prices, sharpness in starts[:number]]
    works.append(constructed(lambda work: by_type(index, work, fine)))
    best = min(works, key=lambda work: _score(index, work))
    if any(n and index.paid_bins[i] for i, n in enumerate(best.left)):
        # Limits bind: what matters is how many get a place, and who.
        works.append(constructed(lambda work: by_number(index, work)))
        works.append(with_taste(fine, Taste(tiers_first=True)))
        skew = [1.0] * len(start.left)
        for _ in range(_ROUNDS_FOR_THE_LEFT):
            # Those left out go first in the next try: others have machines to choose from that they have not.
            for i, n in enumerate(works[-1].left):
                skew[i] *= _PUSH if n else 1.0
            works.append(with_taste(fine, Taste(skew=tuple(skew), tiers_first=True)))
            if not any(n and index.paid_bins[i] for i, n in enumerate(works[-1].left)):
                break
        best = min(works, key=lambda work: _score(index, work))
    return best


def _score(index: ProblemIndex, work: Work) -> tuple[tuple[tuple[int, int], ...], int, int]:
    """Return the score of an answer, the smaller the better: pods left out by tier, cost, number of machines."""
    return _missing(index, dict(enumerate(work.left))), index.cost(work.nodes), len(work.nodes)


def _missing(index: ProblemIndex, left: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """Return the number of pods without a place in each tier, the highest tier first."""
    missing = dict.fromkeys(sorted(set(index.tier), reverse=True), 0)
    for i, n in left.items():
        missing[index.tier[i]] += n
    return tuple((-tier, n) for tier, n in missing.items())


def fill_free(index: ProblemIndex, work: Work, *, without_paid_first: bool = True) -> None:
    """Place the pods that fit on free bins, in the order of their ranks, and take them off `work`.

    Several orders of the pods are tried, and the one kept that saves most, so that a tight plan
    whose machines are already on their way fits onto them again.

    Args:
        index: the problem.
        work: the pods placed so far.
        without_paid_first: pods that have no other place come before all that a machine can be bought for,
            whatever their tiers.
    """
    if not index.free:
        return
    prices = pod_prices(index, work.left, rough=True)
    best: tuple[tuple[int, ...], Work] | None = None
    tiers = sorted({index.tier[i] for i in range(len(work.left))}, reverse=True)
    urgent = [without_paid_first and not index.paid_bins[i] for i in range(len(work.left))]
    for order in _orders(index, work.left, prices, urgent):
        trial = Work(list(work.left), list(work.limits_left), list(work.nodes))
        for b in index.free:
            _fill_bin(index, trial, b, order)
        saved = tuple(
            sum(prices.pod[i] * (work.left[i] - n) for i, n in enumerate(trial.left) if index.tier[i] == tier)
            for tier in tiers
        )
        urgent_placed = tuple(
            sum(work.left[i] - n for i, n in enumerate(trial.left) if urgent[i] and index.tier[i] == tier)
            for tier in tiers
        )
        placed = sum(work.left) - sum(trial.left)
        if best is None or (*urgent_placed, *saved, placed) > best[0]:
            best = (*urgent_placed, *saved, placed), trial
        if not any(trial.left):
            break
    if best is not None:
        work.left, work.limits_left, work.nodes = best[1].left, best[1].limits_left, best[1].nodes


def _orders(index: ProblemIndex, left: Sequence[int], prices: PodPrices, urgent: Sequence[bool]) -> list[list[int]]:
    groups = [i for i, n in enumerate(left) if n]
    resources = len(index.capacity[0])
    total = [max((index.capacity[b][r] for b in index.free), default=0) or 1 for r in range(resources)]

    def dominant(i: int) -> float:
        return max((d / total[r] for r, d in index.demand[i]), default=0.0)

    def rank(i: int) -> tuple[bool, int]:
        return not urgent[i], -index.tier[i]

    def few_choices(i: int) -> int:
        return len(index.problem.groups[i].bins)

    orders = [
        sorted(groups, key=lambda i: (*rank(i), few_choices(i), -dominant(i))),
        sorted(groups, key=lambda i: (*rank(i), -dominant(i))),
        sorted(groups, key=lambda i: (*rank(i), -prices.pod[i])),
        sorted(groups, key=lambda i: (*rank(i), -sum(d / total[r] for r, d in index.demand[i]))),
        sorted(groups, key=lambda i: (*rank(i), dominant(i))),
    ]
    return [order for k, order in enumerate(orders) if order not in orders[:k]]


def _fill_bin(index: ProblemIndex, work: Work, b: int, order: Sequence[int]) -> None:
    members = set(index.members[b])
    allowed = [i for i in order if i in members]
    machines = min(index.most(b, work.limits_left), _MOST_NODES)
    while machines > 0:
        counts: Counts = {}
        index.fill(allowed, work.left, counts, list(index.capacity[b]))
        if not counts:
            return
        copies = min(machines, *(work.left[i] // n for i, n in counts.items()))
        work.buy(index, b, counts, copies)
        machines -= copies
