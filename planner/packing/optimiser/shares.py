"""Prices of pods by spreading each machine's price over what it has: compiled, and with prices of limits.

The same dual as `planner.packing.pod_prices`, which tells why these prices prove a bound. Here a limit may
have a price, too: a machine costs its price and those of its limits, and the bound pays back what the limits allow at
most.
"""

from typing import NamedTuple

import numpy as np

from planner.packing.optimiser.arrays import NONE, Floats, Ints, Yard, most_taken
from planner.packing.optimiser.kernel import borrowing, kernel

_FEWEST_STEPS = 20
"""Measured: after so many, the bound is 0.1 % lower than at last."""
_LOOKS = 40_000
"""Groups times bins, above which steps become fewer; a look is some 60 ns."""
_FUNCTIONS = 4
"""The identity, and three dual feasible functions."""
_PULL = 4.0
"""How far a weight moves in the first step."""
_SHARPNESS = 20.0
"""How strongly a pod prefers its cheapest machine in the first step."""
_CALM = 10.0
"""After so many steps, weights move half as far and pods are twice as choosy."""
_FAINT = 0.1
"""Weight of a row that is no resource, at the start, where a resource has 1."""
_RANGE = 2.0
"""A pod looks at machines in which it costs at most so many times the least."""
_LIMIT_PULL = 0.15
"""How far the price of a limit moves in the first step, in dearest machines."""
_LIMIT_MOST = 4.0
"""The most that a limit can cost, in dearest machines."""


class Shares(NamedTuple):
    """Prices, in billionths per hour."""

    pod: Floats
    """Of one pod, `[i]`; 0 where no paid bin may hold it."""
    share: Floats
    """What a pod takes of a bin's price, `[i, b]`; infinite where it may not be."""
    limit: Floats
    """Of what a machine that takes 1 of a limit takes of it, `[k]`."""
    bound: float
    """What all pods cost at least, if all have a place."""


def shares_of(yard: Yard, left: Ints, room: Ints, most_steps: int) -> Shares:
    """Return prices for `left` pods of each group after so many steps, or fewer where each takes long."""
    looks = int(np.count_nonzero(left)) * len(yard.paid)
    steps = min(most_steps, max(_FEWEST_STEPS, most_steps * _LOOKS // max(1, looks)))
    return Shares(*_walk(yard, left, room, most_taken(yard, room), *_parts(yard, left), steps))


@kernel
def _parts(yard: Yard, left: Ints) -> tuple[Ints, Ints, Floats]:
    """Return of how many rows each group takes something, `[i]`, of which, `[i, …]`, and how much, `[i, q, …]`.

    Here and below, `q` is the position of a bin in `Yard.paid`: beside a few of those, free ones may be thousands.
    """
    groups, resources = yard.demand.shape
    most = 1
    for i in range(groups):
        most = max(most, (yard.demand[i] > 0).sum() * _FUNCTIONS)
    number = np.zeros(groups, np.int64)
    rows = np.full((groups, most), NONE, np.int64)
    parts = np.zeros((groups, yard.paid.shape[0], most))
    for i in range(groups):
        if left[i] == 0:
            continue
        m = 0
        for r in range(resources):
            d = yard.demand[i, r]
            if d == 0:
                continue
            for k in range(_FUNCTIONS):
                rows[i, m] = r + k * resources
                for q in range(yard.paid.shape[0]):
                    b = yard.paid[q]
                    if yard.allowed[i, b]:
                        capacity = yard.capacity[b, r]
                        whole = (k + 1) * d // capacity
                        if k == 0 or (k + 1) * d == whole * capacity:
                            parts[i, q, m] = d / capacity
                        else:
                            parts[i, q, m] = whole / k
                m += 1
        number[i] = m
    return number, rows, parts


@kernel
def _walk(
    yard: Yard, left: Ints, room: Ints, largest: Ints, number: Ints, rows: Ints, parts: Floats, steps: int
) -> tuple[Floats, Floats, Floats, float]:
    groups, paid, resources = rows.shape[0], yard.paid.shape[0], yard.capacity.shape[1]
    dearest = yard.price.max()
    pod = np.zeros(groups)
    share = np.full((groups, paid), np.inf)
    limit = np.zeros(room.shape[0])
    weight, cap_weight = _first_weights(yard, left, number, rows, parts)
    best, best_cap, best_limit, best_value = weight.copy(), cap_weight.copy(), limit.copy(), -1.0
    load = np.zeros((paid, resources * _FUNCTIONS))
    cap_load = np.zeros((paid, groups))
    cost, liking = np.zeros(paid), np.zeros(paid)
    used = np.zeros(room.shape[0])
    for step in range(steps + 1):
        calm = 1 + step / _CALM
        if step == steps:
            weight, cap_weight, limit = best, best_cap, best_limit
        load[:] = 0.0
        cap_load[:] = 0.0
        value = 0.0
        for k in range(room.shape[0]):
            value -= limit[k] * room[k]
        _add_limits(yard, limit, cost)
        for i in range(groups):
            if left[i] == 0:
                continue
            least = np.inf
            for q in range(paid):
                if yard.allowed[i, yard.paid[q]]:
                    part = 0.0
                    for m in range(number[i]):
                        part += weight[q, rows[i, m]] * parts[i, q, m]
                    if yard.capped[i]:
                        part += cap_weight[q, i] / yard.per_node[i]
                    share[i, q] = part * cost[q]
                    least = min(least, share[i, q])
            if least == np.inf:
                continue
            pod[i] = least
            value += left[i] * least
            if least <= 0 or step == steps:
                continue
            _spread(yard, i, left[i], least, calm, share[i], rows[i, : number[i]], parts[i], liking, load, cap_load)
        if step == 0 or value > best_value:
            best_value = value
            best[:], best_cap[:], best_limit[:] = weight, cap_weight, limit
        if step < steps:
            _move(yard, room, weight, cap_weight, limit, load, cap_load, used, largest, calm, dearest)
    every = np.full((groups, yard.price.shape[0]), np.inf)
    for q in range(paid):
        every[:, yard.paid[q]] = share[:, q]
    return pod, every, limit, best_value


@borrowing
def _spread(
    yard: Yard,
    i: int,
    pods: int,
    least: float,
    calm: float,
    share: Floats,
    rows: Ints,
    parts: Floats,
    liking: Floats,
    load: Floats,
    cap_load: Floats,
) -> None:
    """Load bins with the pods of a group, most of them where they cost least; `share`, rows and parts are its own."""
    total = 0.0
    for q in range(share.shape[0]):
        if share[q] < least * _RANGE:
            liking[q] = (least / share[q]) ** (_SHARPNESS * calm)
            total += liking[q]
    for q in range(share.shape[0]):
        if share[q] < least * _RANGE:
            amount = liking[q] / total * pods
            if amount > 1e-6 * pods:
                for m in range(rows.shape[0]):
                    load[q, rows[m]] += amount * parts[q, m]
                if yard.capped[i]:
                    cap_load[q, i] += amount / yard.per_node[i]


@borrowing
def _add_limits(yard: Yard, limit: Floats, cost: Floats) -> None:
    for q in range(yard.paid.shape[0]):
        b = yard.paid[q]
        cost[q] = yard.price[b]
        for p in range(yard.limits.shape[1]):
            k = yard.limits[b, p]
            if k != NONE:
                cost[q] += limit[k] * yard.amounts[b, p]


@kernel
def _first_weights(yard: Yard, left: Ints, number: Ints, rows: Ints, parts: Floats) -> tuple[Floats, Floats]:
    groups, paid, resources = rows.shape[0], yard.paid.shape[0], yard.capacity.shape[1]
    weight = np.zeros((paid, resources * _FUNCTIONS))
    cap_weight = np.zeros((paid, groups))
    for q in range(paid):
        for i in range(groups):
            if left[i] and yard.allowed[i, yard.paid[q]]:
                for m in range(number[i]):
                    if parts[i, q, m] > 0:
                        weight[q, rows[i, m]] = 1.0 if rows[i, m] < resources else _FAINT
                if yard.capped[i]:
                    cap_weight[q, i] = _FAINT
        total = weight[q].sum() + cap_weight[q].sum()
        if total > 0:
            weight[q] /= total
            cap_weight[q] /= total
    return weight, cap_weight


@kernel
def _move(
    yard: Yard,
    room: Ints,
    weight: Floats,
    cap_weight: Floats,
    limit: Floats,
    load: Floats,
    cap_load: Floats,
    used: Floats,
    largest: Ints,
    calm: float,
    dearest: float,
) -> None:
    """Raise the weights of rows that are wanted more than others, and the prices of limits that are exceeded."""
    pull = _PULL / calm
    used[:] = 0.0
    for q in range(yard.paid.shape[0]):
        most = max(load[q].max(), cap_load[q].max())
        if most <= 0:
            continue
        b = yard.paid[q]
        for p in range(yard.limits.shape[1]):
            k = yard.limits[b, p]
            if k != NONE:
                used[k] += most * yard.amounts[b, p]
        weight[q] *= 1 + pull / most * load[q]
        cap_weight[q] *= 1 + pull / most * cap_load[q]
        total = weight[q].sum() + cap_weight[q].sum()
        weight[q] /= total
        cap_weight[q] /= total
    for k in range(room.shape[0]):
        over = used[k] / max(1, room[k]) - 1
        if over > 0:
            # By the machine that takes most of the limit, as prices of limits are of 1 of it.
            scale = dearest / largest[k]
            limit[k] = min(_LIMIT_MOST * scale, limit[k] + scale * _LIMIT_PULL / calm * min(1.0, over))
        else:
            limit[k] *= 1 + _LIMIT_PULL / calm * over
