"""A packing problem as arrays: what the compiled kernels of the optimiser work on."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.packing.problem import PackingProblem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NONE: Final = -1
"""Stands for no index."""
ENDLESS: Final = 1 << 40
"""Machines of a bin without a limit."""


class Yard(NamedTuple):
    """Arrays by group (i), bin (b), resource (r) and limit (k), in the order of the problem.

    A named tuple, as compiled code takes those, and takes no frozen dataclass.
    """

    demand: Ints
    """Of one pod, `[i, r]`."""
    capacity: Ints
    """Of one machine, `[b, r]`."""
    price: Floats
    """Per hour, in billionths, `[b]`; 0 for capacity that is there or is paid for anyway."""
    rank: Ints
    """Which of equally dear bins comes first, `[b]`."""
    allowed: Flags
    """Whether a pod may be on a machine, and fits when it is empty, `[i, b]`."""
    per_node: Ints
    """Pods of a group that may share a machine, `[i]`."""
    capped: Flags
    """Whether `per_node` says more than how many pods there are, `[i]`."""
    apart_start: Ints
    """Where the groups that may not be beside group i begin in `apart`, `[i + 1]`."""
    apart: Ints
    """Groups."""
    limits: Ints
    """Limits that a bin counts towards, filled up with NONE, `[b, …]`."""
    amounts: Ints
    """What one machine takes of each of them, at least 1, `[b, …]`."""
    paid: Ints
    """Bins with a price, the cheapest first."""
    free: Ints
    """Bins without, in the order in which they are filled."""
    tier: Ints
    """Priority, `[i]`."""


class Prices(NamedTuple):
    """What everything is worth to a construction, in billionths per hour."""

    cost: Floats
    """Of a machine with its limits, `[b]`."""
    pod: Floats
    """Of a pod, `[i]`."""
    share: Floats
    """What a pod takes of a machine's cost, `[i, b]`."""
    alone: Floats
    """What a pod costs on machines of its own kind only, `[i]`."""


def yard_of(problem: PackingProblem) -> Yard:
    """Return the problem as arrays."""
    groups, bins = problem.groups, problem.bins
    demand = np.array([g.demand for g in groups], dtype=np.int64).reshape(len(groups), -1)
    capacity = np.array([b.capacity for b in bins], dtype=np.int64).reshape(len(bins), -1)
    allowed = np.zeros((len(groups), len(bins)), dtype=np.bool_)
    # Many groups have the very same set, of thousands of bins.
    known: dict[int, int] = {}
    for i, group in enumerate(groups):
        alike = known.setdefault(id(group.bins), i)
        if alike < i:
            allowed[i] = allowed[alike]
        else:
            allowed[i, np.fromiter(group.bins, np.int64, len(group.bins))] = True
    needed = demand.any(axis=0)
    demand, capacity = np.ascontiguousarray(demand[:, needed]), np.ascontiguousarray(capacity[:, needed])
    price = np.array([b.price for b in bins], dtype=np.float64)
    rank = np.array([b.rank for b in bins], dtype=np.int64)
    by_price = np.lexsort((np.arange(len(bins)), rank, price))
    widest = max((len(b.limits) for b in bins), default=0)
    limits = np.full((len(bins), max(1, widest)), NONE, dtype=np.int64)
    amounts = np.ones_like(limits)
    for b, row in enumerate(bins):
        limits[b, : len(row.limits)] = row.limits
        if row.amounts:
            amounts[b, : len(row.limits)] = row.amounts
    return Yard(
        demand=demand,
        capacity=capacity,
        price=price,
        rank=rank,
        allowed=allowed,
        # At least 1: a group without pods divides nothing by zero.
        per_node=np.array(
            [max(1, min(g.count, g.count if g.per_node is None else g.per_node)) for g in groups], np.int64
        ),
        capped=np.array([g.per_node is not None and g.per_node < g.count for g in groups], dtype=np.bool_),
        apart_start=np.cumsum([0, *(len(g.apart) for g in groups)], dtype=np.int64),
        apart=np.array([j for g in groups for j in sorted(g.apart)], dtype=np.int64),
        limits=limits,
        amounts=amounts,
        paid=by_price[price[by_price] > 0].astype(np.int64),
        free=by_price[price[by_price] == 0].astype(np.int64),
        tier=np.array([g.tier for g in groups], dtype=np.int64),
    )


def counts_of(problem: PackingProblem) -> Ints:
    """Return the number of pods, `[i]`."""
    return np.array([g.count for g in problem.groups], dtype=np.int64)


def room_of(limits: Sequence[int]) -> Ints:
    """Return what each limit leaves for machines, `[k]`."""
    return np.array(limits, dtype=np.int64)


def taken(yard: Yard, b: int) -> list[tuple[int, int]]:
    """Return each limit that a machine of a bin counts towards, with what it takes of it."""
    pairs = zip(yard.limits[b].tolist(), yard.amounts[b].tolist(), strict=True)
    return [(k, amount) for k, amount in pairs if k != NONE]


def most_taken(yard: Yard, room: Ints) -> Ints:
    """Return what the machine that takes most of each limit takes of it, at least 1, `[k]`; of those with a price."""
    most = np.ones_like(room)
    limits, amounts = yard.limits[yard.paid], yard.amounts[yard.paid]
    np.maximum.at(most, limits[limits != NONE], amounts[limits != NONE])
    return most
