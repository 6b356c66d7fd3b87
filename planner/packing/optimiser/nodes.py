"""Machines one a row, and the moves of searches that empty some and put others in their place."""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

import numpy as np

from planner.packing.optimiser.arrays import NONE, Floats, Ints, Yard
from planner.packing.optimiser.fill import cheapest, take_room
from planner.packing.optimiser.kernel import borrowing, kernel
from planner.packing.optimiser.pattern import Patterns


@borrowing
def choose(waste: Floats, count: int, size: int, candidates: int, chosen: Ints) -> None:
    """Write `size` different machines, wasteful ones more often than others."""
    for s in range(size):
        best = -1
        while best < 0:
            for _ in range(candidates):
                n = np.random.randint(0, count)
                is_new = True
                for t in range(s):
                    if chosen[t] == n:
                        is_new = False
                if is_new and (best < 0 or waste[n] > waste[best]):
                    best = n
        chosen[s] = best


@borrowing
def empty(yard: Yard, nodes: Patterns, n: int, left: Ints, room: Ints) -> None:
    """Give the pods of a machine back to `left`, and the machine to `room`."""
    take_room(yard, nodes.bin[n], room, -1)
    for p in range(nodes.groups[n]):
        left[nodes.group[n, p]] += nodes.number[n, p]


@borrowing
def replace(nodes: Patterns, count: int, chosen: Ints, out: Patterns, rows: int) -> int:
    """Put the first `rows` patterns of `out` in the place of the chosen machines; return how many there are then.

    The chosen come in ascending order. What is new stands in their rows and behind the old ones.
    """
    s = 0
    for q in range(rows):
        for _ in range(out.copies[q]):
            if s < chosen.shape[0]:
                copy(out, q, nodes, chosen[s])
                s += 1
            else:
                copy(out, q, nodes, count)
                count += 1
    for t in range(chosen.shape[0] - 1, s - 1, -1):
        count -= 1
        if chosen[t] != count:
            copy(nodes, count, nodes, chosen[t])
    return count


@borrowing
def copy(source: Patterns, q: int, nodes: Patterns, n: int) -> None:
    """Write row q of some patterns as the one machine of row n of others."""
    nodes.bin[n], nodes.copies[n], nodes.groups[n] = source.bin[q], 1, source.groups[q]
    for p in range(source.groups[q]):
        nodes.group[n, p], nodes.number[n, p] = source.group[q, p], source.number[q, p]


@kernel
def trim(yard: Yard, nodes: Patterns, count: int, room: Ints) -> None:
    """Give each machine that is bought the cheapest bin that holds its pods, of equally dear ones the first."""
    on = np.zeros(yard.demand.shape[0], np.int64)
    for n in range(count):
        b = nodes.bin[n]
        if yard.price[b] == 0:
            continue
        for p in range(nodes.groups[n]):
            on[nodes.group[n, p]] = nodes.number[n, p]
        take_room(yard, b, room, -1)
        best = cheapest(yard, yard.price, on, nodes.group[n], nodes.groups[n], room, yard.price[b] + 0.5)
        if best != NONE:
            nodes.bin[n] = best
        take_room(yard, nodes.bin[n], room, 1)
        for p in range(nodes.groups[n]):
            on[nodes.group[n, p]] = 0
