"""Machines that three pods fill with hardly any rest: searches that go by what pods are worth seldom meet them.

Where each pod has only one or two partners that leave no rest, a machine that is filled nearly as well takes a partner
from another, and so all of them waste. The relaxation chooses among the full machines, if it knows them.
Source: the triplet class of Falkenauer's bin packing instances.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

from typing import Final

import numpy as np

from planner.packing.optimiser.arrays import Ints, Prices, Yard
from planner.packing.optimiser.column import Column, columns_of
from planner.packing.optimiser.fill import is_apart
from planner.packing.optimiser.kernel import kernel
from planner.packing.optimiser.pattern import Patterns, patterns
from planner.packing.optimiser.question import Question

_MOST_GROUPS: Final = 1_000
"""With more, there are more pairs than are looked at in a tenth of a second."""
_FOUND_AT_MOST: Final = 4_000
_FEWEST: Final = 3
_SMALLEST = 0.2
"""Of a machine, what a pod takes of the resource that is wanted most."""
_REST = 0.002
"""Of a machine, what stays free at most."""
_COVERED: Final = 0.9
"""Of all pods, how many have to be on such machines for them to be worth choosing among."""


def full_threes(question: Question, prices: Prices, pods: Ints) -> list[Column]:
    """Return machines that three different pods fill, if nearly all pods are on some of them, else none."""
    groups = np.flatnonzero(pods)
    if not _FEWEST <= len(groups) <= _MOST_GROUPS or question.width < _FEWEST:
        return []
    out = patterns(_FOUND_AT_MOST, question.width)
    rows = _find(question.yard, prices, pods, groups, out)
    covered = np.unique(out.group[:rows, :_FEWEST])
    return list(columns_of(question.yard, out, rows)) if pods[covered].sum() >= _COVERED * pods.sum() else []


@kernel
def _find(yard: Yard, prices: Prices, pods: Ints, groups: Ints, out: Patterns) -> int:
    """Write full machines and return how many there are."""
    rows = 0
    on = np.zeros(pods.shape[0], np.int64)
    for b in yard.paid:
        wanted = np.zeros(yard.capacity.shape[1])
        for i in groups:
            for r in range(wanted.shape[0]):
                if yard.demand[i, r] > 0:
                    wanted[r] += pods[i] * yard.demand[i, r] / yard.capacity[b, r]
        r = np.argmax(wanted)
        capacity = yard.capacity[b, r]
        order = np.empty(groups.shape[0], np.int64)
        size = 0
        for i in groups[np.argsort(yard.demand[groups, r])]:
            if yard.allowed[i, b] and yard.demand[i, r] >= _SMALLEST * capacity:
                order[size] = i
                size += 1
        for first in range(size):
            # The third is the largest: it moves down as the second moves up.
            third = size - 1
            for second in range(first + 1, size):
                taken = yard.demand[order[first], r] + yard.demand[order[second], r]
                while third > second and taken + yard.demand[order[third], r] > capacity:
                    third -= 1
                if third <= second:
                    break
                last = third
                while last > second and taken + yard.demand[order[last], r] >= (1 - _REST) * capacity:
                    if _is_full(yard, prices, b, order[first], order[second], order[last], on):
                        if rows == out.bin.shape[0]:
                            return rows
                        out.bin[rows], out.copies[rows], out.groups[rows] = b, 1, 3
                        out.group[rows, 0], out.group[rows, 1], out.group[rows, 2] = (
                            order[first],
                            order[second],
                            order[last],
                        )
                        out.number[rows, :3] = 1
                        rows += 1
                    last -= 1
    return rows


@kernel
def _is_full(yard: Yard, prices: Prices, b: int, i: int, j: int, k: int, on: Ints) -> bool:
    """Return whether three pods may share a machine and are worth about what it costs; `on` is all zeros."""
    if prices.pod[i] + prices.pod[j] + prices.pod[k] < (1 - _REST) * prices.cost[b]:
        return False
    for r in range(yard.capacity.shape[1]):
        if yard.demand[i, r] + yard.demand[j, r] + yard.demand[k, r] > yard.capacity[b, r]:
            return False
    on[i] = on[j] = 1
    may = not is_apart(yard, j, on) and not is_apart(yard, k, on)
    on[i] = on[j] = 0
    return may
