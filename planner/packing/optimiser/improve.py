"""Improves a plan: machines that waste much are emptied together and bought anew, if that is no dearer.

A large neighbourhood search, compiled. Which machines are emptied and how the new ones are filled follows
from a seed; how long it goes on is counted in work, so that the same problem always gets the same plan.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

import numpy as np

from planner.packing.optimiser.arrays import Ints, Prices, Yard
from planner.packing.optimiser.build import build
from planner.packing.optimiser.fill import copy_room
from planner.packing.optimiser.kernel import borrowing, kernel
from planner.packing.optimiser.nodes import choose, empty, replace
from planner.packing.optimiser.pattern import Patterns, patterns
from planner.packing.optimiser.place import KINDS, place

_SHARPNESS = (6.0, 20.0, 2.0, 60.0)
_LANES = 8
_MOST_NOISE = 0.6
_NOISELESS = 0.25
"""How often a move has no noise."""
_FEWEST = 2
"""Machines that a move empties at least."""
_WORK_OF_A_MOVE = 200
"""What a move takes however small it is."""
_FREE_WASTE = 0.1
"""What a free machine counts as wasting, in the cheapest price."""
_HALF_A_UNIT = 0.5
"""Prices are whole billionths: what is half a unit dearer is dearer."""


@kernel
def improve(
    yard: Yard,
    prices: Prices,
    nodes: Patterns,
    count: int,
    room: Ints,
    work: int,
    most: int,
    candidates: int,
    seed: int,
) -> int:
    """Improve the first `count` machines of `nodes` for so much work; return how many there are then.

    `nodes` holds one machine a row (copies are 1) and is changed in place, as `room` is. A move empties 2 to
    `most` machines; the more `candidates` for each of them, the more it looks for wasteful ones. Free
    machines that are emptied are filled first, each by some order, and the rest is bought.
    """
    np.random.seed(seed)
    if count < _FEWEST:
        return count
    waste = np.empty(nodes.bin.shape[0])
    for n in range(count):
        waste[n] = _waste(yard, prices, nodes, n)
    out = patterns(5 * most, nodes.group.shape[1])
    left = np.zeros(yard.demand.shape[0], np.int64)
    trial_room = room.copy()
    chosen, free_bins, free = np.empty(most, np.int64), np.empty(most, np.int64), 0
    while work > 0:
        size = min(count, _FEWEST + np.random.randint(0, most - 1))
        choose(waste, count, size, candidates, chosen)
        # Only these bins have been on trial: with a limit for each of thousands of Nodes, all limits are many.
        copy_room(yard, yard.paid, room, trial_room)
        copy_room(yard, free_bins[:free], room, trial_room)
        old, free = 0.0, 0
        left[:] = 0
        for s in range(size):
            b = nodes.bin[chosen[s]]
            old += yard.price[b]
            if yard.price[b] == 0:
                free_bins[free] = b
                free += 1
            empty(yard, nodes, chosen[s], left, trial_room)
        if old == 0:
            work -= _WORK_OF_A_MOVE
            continue
        noise = 0.0 if np.random.rand() < _NOISELESS else _MOST_NOISE * np.random.rand()
        rows = 0
        if free > 0:
            np.random.shuffle(free_bins[:free])
            kind = np.random.randint(0, KINDS)
            rows = place(yard, free_bins[:free], prices.pod, left, trial_room, kind, noise, out, 0)
        sharpness = _SHARPNESS[np.random.randint(0, 4)]
        rows, total, done = build(
            yard, prices, left, trial_room, sharpness, noise, _LANES, old + _HALF_A_UNIT, out, rows
        )
        work -= done + _WORK_OF_A_MOVE
        if rows == 0 or left.any():
            continue
        made = out.copies[:rows].sum()
        if count + made - size > nodes.bin.shape[0] or (total > old - _HALF_A_UNIT and made > size):
            continue
        copy_room(yard, yard.paid, trial_room, room)
        copy_room(yard, free_bins[:free], trial_room, room)
        before = count
        places = np.sort(chosen[:size])
        count = replace(nodes, count, places, out, rows)
        for n in places:
            if n < count:
                waste[n] = _waste(yard, prices, nodes, n)
        for n in range(before, count):
            waste[n] = _waste(yard, prices, nodes, n)
    return count


@borrowing
def _waste(yard: Yard, prices: Prices, nodes: Patterns, n: int) -> float:
    """Return by how much a machine costs more than its pods are worth; a free one is emptied now and then, too."""
    b = nodes.bin[n]
    if yard.price[b] == 0:
        return _FREE_WASTE * yard.price[yard.paid[0]]
    waste = prices.cost[b]
    for p in range(nodes.groups[n]):
        waste -= nodes.number[n, p] * prices.pod[nodes.group[n, p]]
    return max(0.0, waste)
