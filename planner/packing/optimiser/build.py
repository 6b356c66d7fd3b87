"""Constructions: machines bought one pattern after the other, each so that it wastes little of its price.

The pod that costs most is the seed. Machines around some of it are filled with what fits best, and of
those the one that loses least of its price per seed is bought, as often as it can be.
Source: the loss-based greedy (H2) of this project's study of packing.
"""

# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
# To numpy's types an element may be an array; kernels are typed by the compiler.

from typing import NamedTuple

import numpy as np

from planner.packing.optimiser.arrays import NONE, Flags, Ints, Prices, Yard
from planner.packing.optimiser.fill import cheapest, fill, fitting, put, room_for, take_room
from planner.packing.optimiser.kernel import borrowing, kernel
from planner.packing.optimiser.pattern import Patterns

_PATIENCE = 2
"""How often a seed whose best machine would be badly used waits for others to be placed first."""
_WELL_USED = 0.98
"""Value over price from which a machine is bought at once."""
_POORLY_USED = 0.93
"""Value over price below which a cheaper machine is looked for that holds the same pods."""
_TINY = 1e-12
"""Keeps logarithms finite."""
_WORK_OF_AN_ORDER = 8
"""Looks at a group that sorting it is worth."""
_CLOSE = 3
"""Bins tried for a seed, those in which it costs least."""


class _Draft(NamedTuple):
    """What a construction works with, made once for it."""

    groups: Ints
    """Those with pods to place."""
    orders: Ints
    """In which these fill a bin, `[q, …]`, by its position in `Yard.paid`: free bins may be thousands."""
    known: Flags
    """Whether the order of a bin is known, `[q]`."""
    on: Ints
    """Pods on the machine in the making, `[i]`; zeros between machines."""
    members: Ints
    """Groups that are on it."""
    free: Ints
    """What is left of it, `[r]`."""
    best_group: Ints
    """Of the best machine so far."""
    best_number: Ints
    close: Ints
    """Positions in `Yard.paid` of the bins that are tried for a seed."""


@kernel
def build(
    yard: Yard,
    prices: Prices,
    left: Ints,
    room: Ints,
    sharpness: float,
    noise: float,
    lanes: int,
    below: float,
    out: Patterns,
    rows: int,
) -> tuple[int, float, int]:
    """Buy machines for `left` pods behind the first `rows` of `out`; return how many rows and what the new ones cost.

    `left` and `room` are counted down; pods may stay left where limits bind. The cost is infinite when it
    would be `below` or more, or there is no room in `out`: then nothing of it counts. Also returns how much
    work it was, in looks at a group.
    """
    groups, width = np.flatnonzero(left), out.group.shape[1]
    bins, resources = yard.paid.shape[0], yard.capacity.shape[1]
    draft = _Draft(
        groups,
        np.empty((bins, groups.shape[0]), np.int64),
        np.zeros(bins, np.bool_),
        np.zeros(left.shape[0], np.int64),
        np.empty(width, np.int64),
        np.empty(resources, np.int64),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(_CLOSE + 1, np.int64),
    )
    waited = np.zeros(left.shape[0], np.int64)
    rest = 0.0
    for i in groups:
        rest += left[i] * prices.pod[i]
    total, work = 0.0, groups.shape[0] * 4
    queue = _queue(prices, groups, noise)
    has_moved = total + rest < below
    while has_moved:
        has_moved = False
        for i in queue:
            while left[i] > 0:
                b, m, value, done = _best_lane(yard, prices, i, left, room, sharpness, noise, lanes, draft)
                work += done
                if b == NONE:
                    break
                has_moved = True
                if value < _WELL_USED * prices.cost[b] and waited[i] < _PATIENCE:
                    waited[i] += 1
                    break
                if rows == out.bin.shape[0]:
                    return 0, np.inf, work
                copies = room_for(yard, b, room)
                for p in range(m):
                    copies = min(copies, left[draft.best_group[p]] // draft.best_number[p])
                out.bin[rows], out.copies[rows], out.groups[rows] = b, copies, m
                for p in range(m):
                    out.group[rows, p], out.number[rows, p] = draft.best_group[p], draft.best_number[p]
                    left[draft.best_group[p]] -= copies * draft.best_number[p]
                rows += 1
                take_room(yard, b, room, copies)
                total += copies * yard.price[b]
                rest -= copies * value
                if total + max(0.0, rest) >= below:
                    return 0, np.inf, work
    return rows, total, work


@kernel
def _queue(prices: Prices, groups: Ints, noise: float) -> Ints:
    """Return the groups in the order in which they are seeds: those first of which a pod costs most."""
    size = np.empty(groups.shape[0])
    for a in range(groups.shape[0]):
        size[a] = np.log(prices.alone[groups[a]] + _TINY)
        if noise > 0:
            size[a] += noise * np.random.randn()
    return groups[np.argsort(-size)]


@kernel
def _best_lane(
    yard: Yard,
    prices: Prices,
    i: int,
    left: Ints,
    room: Ints,
    sharpness: float,
    noise: float,
    lanes: int,
    draft: _Draft,
) -> tuple[int, int, float, int]:
    """Write the machine that loses least of its price per seed pod of group `i`.

    Returns its bin, NONE if none is allowed, how many groups are on it, what they are worth, and the work.
    """
    on, members, free, close = draft.on, draft.members, draft.free, draft.close
    near = _close_bins(yard, prices, i, room, close)
    best_loss, best_bin, best_m, best_value, work = np.inf, NONE, 0, 0.0, 0
    for c in range(near):
        q = close[c]
        b = yard.paid[q]
        if not draft.known[q]:
            draft.known[q] = True
            work += _WORK_OF_AN_ORDER * draft.groups.shape[0]
            order_of(yard, prices, b, draft.groups, sharpness, noise, draft.orders[q])
        most = min(left[i], fitting(yard, i, yard.capacity[b]))
        for lane in range(max(1, lanes // near)):
            if lane > 0 and most == 1:
                break
            quantity = most if lane == 0 else 1 if lane == 1 else 1 + np.random.randint(0, most)
            free[:] = yard.capacity[b]
            m = put(yard, i, quantity, free, on, members, 0)
            m = fill(yard, b, draft.orders[q], left, free, on, members, m)
            work += draft.groups.shape[0]
            value = 0.0
            for p in range(m):
                value += on[members[p]] * prices.pod[members[p]]
            chosen = b
            if value < _POORLY_USED * prices.cost[b]:
                cheaper = cheapest(yard, prices.cost, on, members, m, room, prices.cost[b])
                chosen = b if cheaper == NONE else cheaper
            loss = (prices.cost[chosen] - value) / on[i]
            if loss < best_loss:
                best_loss, best_bin, best_m, best_value = loss, chosen, m, value
                for p in range(m):
                    draft.best_group[p], draft.best_number[p] = members[p], on[members[p]]
            for p in range(m):
                on[members[p]] = 0
    return best_bin, best_m, best_value, work


@kernel
def order_of(yard: Yard, prices: Prices, b: int, groups: Ints, sharpness: float, noise: float, out: Ints) -> None:
    """Write the groups in the order in which they fill a bin."""
    score = np.empty(groups.shape[0])
    for a in range(groups.shape[0]):
        i = groups[a]
        if not yard.allowed[i, b]:
            score[a] = -np.inf
            continue
        dominant = 0.0
        for r in range(yard.capacity.shape[1]):
            if yard.demand[i, r] > 0:
                dominant = max(dominant, yard.demand[i, r] / yard.capacity[b, r])
        share = prices.share[i, b]
        fits = min(1.0, prices.pod[i] / share) if share > 0 else 1.0
        score[a] = np.log(dominant + _TINY) + sharpness * np.log(fits + _TINY)
        if noise > 0:
            score[a] += noise * np.random.randn()
    out[:] = groups[np.argsort(-score)]


@borrowing
def _close_bins(yard: Yard, prices: Prices, i: int, room: Ints, close: Ints) -> int:
    """Write the positions in `Yard.paid` of bins in which a pod costs least, and of the cheapest; return how many."""
    near, cheap = 0, NONE
    for at in range(yard.paid.shape[0]):
        b = yard.paid[at]
        if not yard.allowed[i, b] or room_for(yard, b, room) <= 0:
            continue
        if cheap == NONE or prices.cost[b] < prices.cost[yard.paid[cheap]]:
            cheap = at
        share = prices.share[i, b]
        p = near
        while p > 0 and prices.share[i, yard.paid[close[p - 1]]] > share:
            p -= 1
        if p < _CLOSE:
            near = min(near + 1, _CLOSE)
            for q in range(near - 1, p, -1):
                close[q] = close[q - 1]
            close[p] = at
    for p in range(near):
        if close[p] == cheap:
            return near
    if near > 0:
        close[near] = cheap
        near += 1
    return near
