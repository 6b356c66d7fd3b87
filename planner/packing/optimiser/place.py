"""Gives a place to as many pods as possible: on machines that are there, or as many as limits allow.

Machines are filled by what pods are worth to have a place; then some are emptied together and filled
anew with the pods that have none, and what places more worth is kept.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

import numpy as np

from planner.packing.optimiser.arrays import NONE, Floats, Ints, Yard
from planner.packing.optimiser.fill import copy_room, fill, room_for, take_room
from planner.packing.optimiser.kernel import borrowing, kernel
from planner.packing.optimiser.nodes import choose, empty, replace
from planner.packing.optimiser.pattern import Patterns, patterns

_MOST_NOISE = 0.8
_NOISELESS = 0.2
"""How often a move has no noise."""
_WORK_OF_A_MOVE = 200
_WORK_OF_AN_ORDER = 8
_SAME = 1e-6
"""Worths closer than this are equal."""
_RANK_COSTS = 1e-6
_OTHERS, _OTHERS_CHANCE = 2, 0.4
"""Bins tried beside those of the emptied machines at most, and how often each is."""
_BY_VALUE, _BY_DENSITY, BY_SUM, _BY_SIZE, KINDS = 0, 1, 2, 3, 4
"""Orders in which a machine is filled: the worthiest pod first, the worthiest for its largest share of the
machine, for the sum of its shares, or the largest."""


@kernel
def place(
    yard: Yard, bins: Ints, worth: Floats, left: Ints, room: Ints, kind: int, noise: float, out: Patterns, rows: int
) -> int:
    """Fill machines of `bins` behind the first `rows` of `out` while pods are left; return how many rows there are.

    Bins are taken in their order, each as often as its limits allow. `left` and `room` are counted down.
    """
    groups = np.flatnonzero(left)
    order = np.empty(groups.shape[0], np.int64)
    on = np.zeros(left.shape[0], np.int64)
    members, free = np.empty(out.group.shape[1], np.int64), np.empty(yard.capacity.shape[1], np.int64)
    ordered = NONE
    for b in bins:
        # Without noise, the order is that of any bin as large: thousands of Nodes may have the same room.
        is_ordered = noise == 0 and ordered != NONE and _as_large(yard, b, ordered)
        while rows < out.bin.shape[0] and room_for(yard, b, room) > 0:
            if not is_ordered:
                _order(yard, b, worth, groups, kind, noise, order)
                is_ordered, ordered = True, b
            free[:] = yard.capacity[b]
            m = fill(yard, b, order, left, free, on, members, 0)
            if m == 0:
                break
            copies = room_for(yard, b, room)
            for p in range(m):
                copies = min(copies, left[members[p]] // on[members[p]])
            out.bin[rows], out.copies[rows], out.groups[rows] = b, copies, m
            for p in range(m):
                out.group[rows, p], out.number[rows, p] = members[p], on[members[p]]
                left[members[p]] -= copies * on[members[p]]
                on[members[p]] = 0
            take_room(yard, b, room, copies)
            rows += 1
    return rows


@borrowing
def _as_large(yard: Yard, a: int, b: int) -> bool:
    for r in range(yard.capacity.shape[1]):  # noqa: SIM110 - compiled code has no generators
        if yard.capacity[a, r] != yard.capacity[b, r]:
            return False
    return True


@kernel
def _order(yard: Yard, b: int, worth: Floats, groups: Ints, kind: int, noise: float, out: Ints) -> None:
    score = np.empty(groups.shape[0])
    for a in range(groups.shape[0]):
        i = groups[a]
        largest, total = 1e-12, 1e-12
        for r in range(yard.capacity.shape[1]):
            if yard.demand[i, r] > 0:
                share = yard.demand[i, r] / max(1, yard.capacity[b, r])
                largest = max(largest, share)
                total += share
        value = np.log(worth[i] + 1e-12)
        if kind == _BY_DENSITY:
            value -= np.log(largest)
        elif kind == BY_SUM:
            value -= np.log(total)
        elif kind == _BY_SIZE:
            value = np.log(largest)
        score[a] = value + (noise * np.random.randn() if noise > 0 else 0.0)
    out[:] = groups[np.argsort(-score)]


@kernel
def place_more(
    yard: Yard,
    bins: Ints,
    worth: Floats,
    nodes: Patterns,
    count: int,
    missing: Ints,
    room: Ints,
    work: int,
    most: int,
    seed: int,
) -> int:
    """Place more of the pods that are `missing`, for so much work; return how many machines there are then.

    `nodes` holds one machine a row and is changed in place, as `missing` and `room` are. Emptied machines are
    filled anew, or others of `bins` in their stead, where limits allow. Of two ways that place pods of equal
    worth, the cheaper is taken.
    """
    np.random.seed(seed)
    if count == 0:
        return count
    width = nodes.group.shape[1]
    waste = np.ones(nodes.bin.shape[0])
    chosen = np.empty(most, np.int64)
    out = patterns(4 * most, width)
    tried, tries = np.empty(_OTHERS + most, np.int64), 0
    trial_room = room.copy()
    while work > 0 and missing.any():
        size = min(count, 1 + np.random.randint(0, most))
        choose(waste, count, size, 1, chosen)
        # Only these bins have been on trial: with a limit for each of thousands of Nodes, all limits are many.
        copy_room(yard, tried[:tries], room, trial_room)
        left = missing.copy()
        old_cost, tries = 0.0, size
        for s in range(size):
            old_cost += _cost(yard, nodes.bin[chosen[s]])
            empty(yard, nodes, chosen[s], left, trial_room)
            tried[s] = nodes.bin[chosen[s]]
        np.random.shuffle(tried[:size])
        while tries < size + _OTHERS and np.random.rand() < _OTHERS_CHANCE:
            tried[tries] = tried[0]
            tried[0] = bins[np.random.randint(0, bins.shape[0])]
            tries += 1
        noise = _MOST_NOISE * np.random.rand() if np.random.rand() > _NOISELESS else 0.0
        kind = np.random.randint(0, KINDS)
        work -= _WORK_OF_A_MOVE + _WORK_OF_AN_ORDER * tries * np.count_nonzero(left)
        rows = place(yard, tried[:tries], worth, left, trial_room, kind, noise, out, 0)
        made, cost, gain = out.copies[:rows].sum(), 0.0, 0.0
        for q in range(rows):
            cost += out.copies[q] * _cost(yard, out.bin[q])
        for i in range(left.shape[0]):
            gain += worth[i] * (missing[i] - left[i])
        if gain < -_SAME or (gain < _SAME and cost > old_cost) or count + made - size > nodes.bin.shape[0]:
            continue
        copy_room(yard, tried[:tries], trial_room, room)
        missing[:] = left
        count = replace(nodes, count, np.sort(chosen[:size]), out, rows)
    return count


@borrowing
def _cost(yard: Yard, b: int) -> float:
    """Return the cost of a machine; among free ones, those of a lower rank are better."""
    return yard.price[b] + _RANK_COSTS * yard.rank[b]
