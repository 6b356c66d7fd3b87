"""The greedy packer: free capacity first, then the best of several constructions, then improvement.

It is a fallback and a first answer for any better packer behind the same seat (`planner.packing.problem.Packer`).
"""

from collections.abc import Callable, Mapping
from typing import Final

from planner.packing.greedy.construct import Taste, Work, by_loss, by_number, by_type
from planner.packing.greedy.exact import MOST_PODS, cheapest_sharing
from planner.packing.greedy.existing import fill_free
from planner.packing.greedy.improve import improve, trimmed
from planner.packing.greedy.index import Arena
from planner.packing.greedy.nearest import MOST_CLASSES, by_nearest
from planner.packing.greedy.pod_prices import Prices, pod_prices
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


def is_small(problem: PackingProblem) -> bool:
    """Return whether the pods are so few that `pack` looks at every way to share the machines it buys for them."""
    return sum(group.count for group in problem.groups) <= MOST_PODS


def pack(problem: PackingProblem) -> Packing:
    """Return a packing: as many pods as it finds room for, those of high tiers first, at little cost.

    Source: the loss-based greedy of this project's study of packing, without its column generation.
    """
    if not problem.groups:
        return Packing()
    arena = Arena(problem)
    best = _packed(arena, without_paid_first=True)
    if all(arena.paid_bins) or not any(arena.paid_bins[i] for i in best.unplaced):
        return best
    # Limits leave out pods for which machines could be bought: perhaps of a higher tier than those that came first.
    other = _packed(arena, without_paid_first=False)
    return min(best, other, key=lambda one: _missing(arena, one.unplaced))


def _packed(arena: Arena, *, without_paid_first: bool) -> Packing:
    problem = arena.problem
    start = Work(list(arena.counts), list(problem.limits), [])
    fill_free(arena, start, without_paid_first=without_paid_first)
    if not any(n and arena.paid_bins[i] for i, n in enumerate(start.left)):
        return Packing(tuple(start.nodes), {i: n for i, n in enumerate(start.left) if n})
    if sum(map(bool, start.left)) > MOST_CLASSES:
        by_nearest(arena, start)
        return Packing(tuple(trimmed(arena, start)), {i: n for i, n in enumerate(start.left) if n})
    fine = pod_prices(arena, start.left)
    built = _built(arena, start, fine)
    unplaced = {i: n for i, n in enumerate(built.left) if n}
    if not any(arena.paid_bins[i] for i in unplaced):
        to_buy_for = [n if arena.paid_bins[i] else 0 for i, n in enumerate(start.left)]
        is_finished, cheaper = cheapest_sharing(arena, to_buy_for, arena.cost(built.nodes))
        # With free machines, other pods might have been the ones to buy for.
        proves = is_finished and not start.nodes and problem.relaxed is None
        if cheaper is not None and min(room := arena.room_after(cheaper, start.room), default=0) >= 0:
            built, cheaper = Work(built.left, room, [*start.nodes, *cheaper]), None
        if is_finished and cheaper is None:
            nodes = trimmed(arena, built)
            return Packing(tuple(nodes), unplaced, proven=arena.cost(nodes) if proves else 0)
    return Packing(tuple(trimmed(arena, improve(arena, built, fine))), unplaced)


def _built(arena: Arena, start: Work, fine: Prices) -> Work:
    """Return the best of all constructions."""
    classes = max(1, sum(1 for n in start.left if n))
    lanes = max(_FEWEST_LANES, min(_LANES, _LANE_WORK // classes**2))
    rough = pod_prices(arena, start.left, rough=True)

    def constructed(build: Callable[[Work], None]) -> Work:
        work = Work(list(start.left), list(start.room), list(start.nodes))
        build(work)
        return work

    def with_taste(prices: Prices, taste: Taste) -> Work:
        return constructed(lambda work: by_loss(arena, work, prices, taste, lanes))

    starts = [(prices, sharpness) for sharpness in _SHARPNESS for prices in (fine, rough)]
    number = max(_FEWEST_STARTS, _START_WORK // classes)
    works = [with_taste(prices, Taste(sharpness)) for prices, sharpness in starts[:number]]
    works.append(constructed(lambda work: by_type(arena, work, fine)))
    best = min(works, key=lambda work: _score(arena, work))
    if any(n and arena.paid_bins[i] for i, n in enumerate(best.left)):
        # Limits bind: what matters is how many get a place, and who.
        works.append(constructed(lambda work: by_number(arena, work)))
        works.append(with_taste(fine, Taste(tiers_first=True)))
        skew = [1.0] * len(start.left)
        for _ in range(_ROUNDS_FOR_THE_LEFT):
            # Those left out go first in the next try: others have machines to choose from that they have not.
            for i, n in enumerate(works[-1].left):
                skew[i] *= _PUSH if n else 1.0
            works.append(with_taste(fine, Taste(skew=tuple(skew), tiers_first=True)))
            if not any(n and arena.paid_bins[i] for i, n in enumerate(works[-1].left)):
                break
        best = min(works, key=lambda work: _score(arena, work))
    return best


def _score(arena: Arena, work: Work) -> tuple[tuple[tuple[int, int], ...], int, int]:
    """Return what makes one answer better than another, the smaller the better."""
    return _missing(arena, dict(enumerate(work.left))), arena.cost(work.nodes), len(work.nodes)


def _missing(arena: Arena, left: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """Return how many pods of each tier have no place, the highest tier first."""
    missing = dict.fromkeys(sorted(set(arena.tier), reverse=True), 0)
    for i, n in left.items():
        missing[arena.tier[i]] += n
    return tuple((-tier, n) for tier, n in missing.items())
