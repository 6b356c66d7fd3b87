"""Prices patterns: looks for machines whose pods are worth more than they cost.

A dynamic programme over how full a machine is by one measure: for each of some buckets it keeps the
best value and all that it takes in truth, so that what it finds always fits. It is not exact, but
nearly always within a few percent of it; several measures make up for each other.
Source: the bucket programme of this project's study of packing.
"""

import numpy as np

from planner.packing.optimiser.arrays import NONE, Floats, Ints, Prices, Yard
from planner.packing.optimiser.fill import fitting
from planner.packing.optimiser.kernel import kernel
from planner.packing.optimiser.pattern import Patterns

_BUCKETS = 128
_MOST_GROUPS = 90
"""Groups that are looked at for one machine: those that are worth most for what they take."""
_CHUNKS = 8
"""Powers of two that make up any number of pods on one machine."""
_MEASURES = 4
_AVOIDS = 0.25
"""How often a group that has something against others is left out, so that the others have a chance."""


@kernel
def worthwhile(yard: Yard, prices: Prices, left: Ints, least: float, seed: int, out: Patterns) -> int:
    """Write patterns that are worth more than they cost by a share of `least`; return how many.

    Of each paid bin at most one for each measure, for pods that are `left`.
    """
    np.random.seed(seed)
    rows = 0
    on = np.zeros(left.shape[0], np.int64)
    for b in yard.paid:
        groups, uses = _candidates(yard, prices, left, b)
        known = 0.0
        for measure in range(_MEASURES):
            if rows == out.bin.shape[0]:
                return rows
            value = _best(yard, prices, left, b, groups, uses[measure], on)
            gain = value - prices.cost[b]
            if gain > least * prices.cost[b] and abs(gain - known) > 1e-9 * gain:
                known = gain
                m = 0
                out.bin[rows], out.copies[rows] = b, 1
                for i in groups:
                    if on[i] > 0 and m < out.group.shape[1]:
                        out.group[rows, m], out.number[rows, m] = i, on[i]
                        m += 1
                out.groups[rows] = m
                rows += 1
            for i in groups:
                on[i] = 0
    return rows


@kernel
def _candidates(yard: Yard, prices: Prices, left: Ints, b: int) -> tuple[Ints, Floats]:
    """Return the groups that a bin may be filled with, densest first, and what they take by each measure."""
    resources = yard.capacity.shape[1]
    allowed = np.flatnonzero((left > 0) & (prices.pod > 0) & yard.allowed[:, b])
    density = np.empty(allowed.shape[0])
    wanted = np.zeros(resources)
    for a in range(allowed.shape[0]):
        i = allowed[a]
        density[a] = prices.pod[i] / (prices.share[i, b] + 1e-9)
        for r in range(resources):
            if yard.demand[i, r] > 0:
                wanted[r] += left[i] * yard.demand[i, r] / yard.capacity[b, r]
    scarce = np.argsort(-wanted)
    blocked = np.zeros(left.shape[0], np.bool_)
    groups = np.empty(_MOST_GROUPS, np.int64)
    count = 0
    for a in np.argsort(-density):
        i = allowed[a]
        if count == _MOST_GROUPS:
            break
        start, end = yard.apart_start[i], yard.apart_start[i + 1]
        if blocked[i] or (end > start and np.random.rand() < _AVOIDS):
            continue
        for p in range(start, end):
            blocked[yard.apart[p]] = True
        groups[count] = i
        count += 1
    groups = groups[:count].copy()
    uses = np.empty((_MEASURES, count))
    first, second = scarce[0], scarce[min(1, resources - 1)]
    for a in range(count):
        i = groups[a]
        first_use = yard.demand[i, first] / max(1, yard.capacity[b, first])
        second_use = yard.demand[i, second] / max(1, yard.capacity[b, second])
        uses[0, a] = prices.share[i, b] / prices.cost[b]
        uses[1, a], uses[2, a], uses[3, a] = first_use, second_use, (first_use + second_use) / 2
    return groups, uses


@kernel
def _best(yard: Yard, prices: Prices, left: Ints, b: int, groups: Ints, use: Floats, on: Ints) -> float:
    """Write into `on` the pods of a valuable filling, and return their value."""
    resources = yard.capacity.shape[1]
    most_items = groups.shape[0] * _CHUNKS
    item_group, item_number, item_use = (
        np.empty(most_items, np.int64),
        np.empty(most_items, np.int64),
        np.empty(most_items),
    )
    items = 0
    for a in range(groups.shape[0]):
        most, size = min(left[groups[a]], fitting(yard, groups[a], yard.capacity[b])), 1
        for _ in range(_CHUNKS):
            number = min(size, most)
            if number <= 0:
                break
            item_group[items], item_number[items], item_use[items] = groups[a], number, number * use[a]
            items += 1
            most -= number
            size *= 2
    value, used = np.full(_BUCKETS + 1, -1.0), np.zeros(_BUCKETS + 1)
    taken = np.zeros((_BUCKETS + 1, resources), np.int64)
    before = np.full((items, _BUCKETS + 1), NONE, np.int64)
    value[0] = 0.0
    for t in range(items):
        i, number = item_group[t], item_number[t]
        worth = number * prices.pod[i]
        for s in range(_BUCKETS, -1, -1):
            total = used[s] + item_use[t]
            if value[s] < 0 or total > 1 + 1e-9:
                continue
            fits = True
            for r in range(resources):
                if taken[s, r] + number * yard.demand[i, r] > yard.capacity[b, r]:
                    fits = False
                    break
            if not fits:
                continue
            target = max(s, min(_BUCKETS, int(total * _BUCKETS)))
            if value[s] + worth > value[target]:
                value[target], used[target], before[t, target] = value[s] + worth, total, s
                for r in range(resources):
                    taken[target, r] = taken[s, r] + number * yard.demand[i, r]
    s = np.argmax(value)
    best = value[s]
    for t in range(items - 1, -1, -1):
        if before[t, s] != NONE:
            on[item_group[t]] += item_number[t]
            s = before[t, s]
    return best
