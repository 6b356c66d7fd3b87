"""The moves that every construction is made of: compiled, on one machine in the making."""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

import numpy as np

from planner.packing.optimiser.arrays import ENDLESS, NONE, Floats, Ints, Yard
from planner.packing.optimiser.kernel import borrowing, kernel


@kernel
def alone(yard: Yard, cost: Floats) -> Floats:
    """Return the cost of one pod of each group alone on machines, `[i]`; infinite where none is paid."""
    groups = yard.demand.shape[0]
    costs = np.full(groups, np.inf)
    for i in range(groups):
        for b in yard.paid:
            if yard.allowed[i, b]:
                costs[i] = min(costs[i], cost[b] / fitting(yard, i, yard.capacity[b]))
    return costs


@borrowing
def fitting(yard: Yard, i: int, free: Ints) -> int:
    """Return the number of pods of group `i` that fit into what is `free`, as far as resources go."""
    most = yard.per_node[i]
    for r in range(free.shape[0]):
        d = yard.demand[i, r]
        if d > 0:
            if d > free[r]:
                return 0
            most = min(most, free[r] // d)
    return most


@borrowing
def is_apart(yard: Yard, i: int, on: Ints) -> bool:
    """Return whether a group that may not be beside `i` is on the machine; `on[j]` pods of group j are."""
    for p in range(yard.apart_start[i], yard.apart_start[i + 1]):  # noqa: SIM110 - compiled code has no generators
        if on[yard.apart[p]] > 0:
            return True
    return False


@borrowing
def put(yard: Yard, i: int, number: int, free: Ints, on: Ints, members: Ints, m: int) -> int:
    """Put pods onto the machine and return how many groups are on it; `members[:m]` are those before."""
    if on[i] == 0:
        members[m] = i
        m += 1
    on[i] += number
    for r in range(free.shape[0]):
        free[r] -= number * yard.demand[i, r]
    return m


@borrowing
def fill(yard: Yard, b: int, order: Ints, left: Ints, free: Ints, on: Ints, members: Ints, m: int) -> int:
    """Put as many pods as fit, group by group in this order; return how many groups are on the machine then."""
    width = members.shape[0]
    for i in order:
        if left[i] == 0 or not yard.allowed[i, b]:
            continue
        most = fitting(yard, i, free)
        if most == 0:
            continue
        most = min(most, left[i] - on[i], yard.per_node[i] - on[i])
        if most <= 0 or (on[i] == 0 and m == width) or is_apart(yard, i, on):
            continue
        m = put(yard, i, most, free, on, members, m)
    return m


@borrowing
def room_for(yard: Yard, b: int, room: Ints) -> int:
    """Return the number of machines of a bin that the limits allow."""
    most = ENDLESS
    for p in range(yard.limits.shape[1]):
        k = yard.limits[b, p]
        if k != NONE:
            amount = yard.amounts[b, p]
            # Mostly each machine takes 1, and a division takes long.
            most = min(most, room[k] if amount == 1 else room[k] // amount)
    return most


@borrowing
def take_room(yard: Yard, b: int, room: Ints, machines: int) -> None:
    """Count machines of a bin against its limits."""
    for p in range(yard.limits.shape[1]):
        k = yard.limits[b, p]
        if k != NONE:
            room[k] -= machines * yard.amounts[b, p]


@borrowing
def copy_room(yard: Yard, bins: Ints, source: Ints, room: Ints) -> None:
    """Write what a source allows under the limits of these bins: with thousands of limits, far less than all."""
    for b in bins:
        for k in yard.limits[b]:
            if k != NONE:
                room[k] = source[k]


@borrowing
def cheapest(yard: Yard, cost: Floats, on: Ints, members: Ints, m: int, room: Ints, below: float) -> int:
    """Return the cheapest paid bin that holds these pods, is allowed and costs less than `below`, else NONE."""
    best = NONE
    for b in yard.paid:
        if cost[b] >= below or room_for(yard, b, room) <= 0:
            continue
        holds = True
        for p in range(m):
            if not yard.allowed[members[p], b]:
                holds = False
                break
        if not holds:
            continue
        for r in range(yard.capacity.shape[1]):
            load = 0
            for p in range(m):
                load += on[members[p]] * yard.demand[members[p], r]
            if load > yard.capacity[b, r]:
                holds = False
                break
        if holds:
            best, below = b, cost[b]
    return best
