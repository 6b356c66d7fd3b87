"""Fills capacity that costs nothing: nodes with room, coming machines, machines that a minimum asks for."""

from collections.abc import Sequence
from typing import Final

from planner.packing.greedy.construct import Work
from planner.packing.greedy.index import Counts, ProblemIndex
from planner.packing.greedy.pod_prices import PodPrices, pod_prices

_MOST_NODES: Final = 100_000
"""Copies of one free bin that are opened at most; a pool cannot have more machines."""


def fill_free(index: ProblemIndex, work: Work, *, without_paid_first: bool = True) -> None:
    """Place what fits on free bins, in the order of their ranks, and take it off `work`.

    Several orders of the pods are tried, and the one kept that saves most, so that a tight plan
    whose machines are already on their way fits onto them again.

    Args:
        index: the problem.
        work: what is placed so far.
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
        kept = tuple(
            sum(work.left[i] - n for i, n in enumerate(trial.left) if urgent[i] and index.tier[i] == tier)
            for tier in tiers
        )
        placed = sum(work.left) - sum(trial.left)
        if best is None or (*kept, *saved, placed) > best[0]:
            best = (*kept, *saved, placed), trial
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
    mine = [i for i in order if i in members]
    machines = min(index.most(b, work.limits_left), _MOST_NODES)
    while machines > 0:
        counts: Counts = {}
        index.fill(mine, work.left, counts, list(index.capacity[b]))
        if not counts:
            return
        copies = min(machines, *(work.left[i] // n for i, n in counts.items()))
        work.buy(index, b, counts, copies)
        machines -= copies
