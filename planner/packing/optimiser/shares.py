"""Prices of pods by spreading each machine's price over what it has: compiled, and with prices of limits.

The same dual as `planner.packing.greedy.pod_prices`, which tells why these prices prove a bound. Here a limit may
have a price, too: a machine costs its price and those of its limits, and the bound pays back what the limits allow at
most.
"""

from typing import NamedTuple

import numpy as np

from planner.packing.optimiser.arrays import NONE, Floats, Ints, Yard
from planner.packing.optimiser.kernel import kernel

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
    """Of one machine under a limit, `[k]`."""
    bound: float
    """What all pods cost at least, if all have a place."""


def shares_of(yard: Yard, left: Ints, room: Ints, most_steps: int) -> Shares:
    """Return prices for `left` pods of each group after so many steps, or fewer where each takes long."""
    looks = int(np.count_nonzero(left)) * len(yard.paid)
    steps = min(most_steps, max(_FEWEST_STEPS, most_steps * _LOOKS // max(1, looks)))
    rows, parts = _parts(yard, left)
    return Shares(*_walk(yard, left, room, rows, parts, steps))


@kernel
def _parts(yard: Yard, left: Ints) -> tuple[Ints, Floats]:
    """Return the rows of which each group takes something, `[i, …]`, and how much of each bin's, `[i, b, …]`."""
    groups, resources = yard.demand.shape
    bins = yard.capacity.shape[0]
    most = 1
    for i in range(groups):
        most = max(most, (yard.demand[i] > 0).sum() * _FUNCTIONS)
    rows = np.full((groups, most), NONE, np.int64)
    parts = np.zeros((groups, bins, most))
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
                for b in yard.paid:
                    if yard.allowed[i, b]:
                        capacity = yard.capacity[b, r]
                        whole = (k + 1) * d // capacity
                        if k == 0 or (k + 1) * d == whole * capacity:
                            parts[i, b, m] = d / capacity
                        else:
                            parts[i, b, m] = whole / k
                m += 1
    return rows, parts


@kernel
def _walk(
    yard: Yard, left: Ints, room: Ints, rows: Ints, parts: Floats, steps: int
) -> tuple[Floats, Floats, Floats, float]:
    groups, most = rows.shape
    bins, resources = yard.capacity.shape
    dearest = yard.price.max()
    pod = np.zeros(groups)
    share = np.full((groups, bins), np.inf)
    limit = np.zeros(room.shape[0])
    weight, cap_weight = _first_weights(yard, left, rows, parts)
    best, best_cap, best_limit, best_value = weight.copy(), cap_weight.copy(), limit.copy(), -1.0
    load = np.zeros((bins, resources * _FUNCTIONS))
    cap_load = np.zeros((bins, groups))
    cost = np.zeros(bins)
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
            for b in yard.paid:
                if yard.allowed[i, b]:
                    part = 0.0
                    for m in range(most):
                        part += weight[b, rows[i, m]] * parts[i, b, m]
                    if yard.capped[i]:
                        part += cap_weight[b, i] / yard.per_node[i]
                    share[i, b] = part * cost[b]
                    least = min(least, share[i, b])
            if least == np.inf:
                continue
            pod[i] = least
            value += left[i] * least
            if least <= 0 or step == steps:
                continue
            total = 0.0
            for b in yard.paid:
                if share[i, b] < least * _RANGE:
                    total += (least / share[i, b]) ** (_SHARPNESS * calm)
            for b in yard.paid:
                if share[i, b] < least * _RANGE:
                    amount = (least / share[i, b]) ** (_SHARPNESS * calm) / total * left[i]
                    if amount > 1e-6 * left[i]:
                        for m in range(most):
                            load[b, rows[i, m]] += amount * parts[i, b, m]
                        if yard.capped[i]:
                            cap_load[b, i] += amount / yard.per_node[i]
        if step == 0 or value > best_value:
            best_value = value
            best[:], best_cap[:], best_limit[:] = weight, cap_weight, limit
        if step < steps:
            _move(yard, room, weight, cap_weight, limit, load, cap_load, calm, dearest)
    return pod, share, limit, best_value


@kernel
def _add_limits(yard: Yard, limit: Floats, cost: Floats) -> None:
    for b in yard.paid:
        cost[b] = yard.price[b]
        for k in yard.limits[b]:
            if k != NONE:
                cost[b] += limit[k]


@kernel
def _first_weights(yard: Yard, left: Ints, rows: Ints, parts: Floats) -> tuple[Floats, Floats]:
    groups, most = rows.shape
    bins, resources = yard.capacity.shape
    weight = np.zeros((bins, resources * _FUNCTIONS))
    cap_weight = np.zeros((bins, groups))
    for b in yard.paid:
        for i in range(groups):
            if left[i] and yard.allowed[i, b]:
                for m in range(most):
                    if parts[i, b, m] > 0:
                        weight[b, rows[i, m]] = 1.0 if rows[i, m] < resources else _FAINT
                if yard.capped[i]:
                    cap_weight[b, i] = _FAINT
        total = weight[b].sum() + cap_weight[b].sum()
        if total > 0:
            weight[b] /= total
            cap_weight[b] /= total
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
    calm: float,
    dearest: float,
) -> None:
    """Raise the weights of rows that are wanted more than others, and the prices of limits that are exceeded."""
    pull = _PULL / calm
    used = np.zeros(room.shape[0])
    for b in yard.paid:
        most = max(load[b].max(), cap_load[b].max())
        if most <= 0:
            continue
        for k in yard.limits[b]:
            if k != NONE:
                used[k] += most
        weight[b] *= 1 + pull / most * load[b]
        cap_weight[b] *= 1 + pull / most * cap_load[b]
        total = weight[b].sum() + cap_weight[b].sum()
        weight[b] /= total
        cap_weight[b] /= total
    for k in range(room.shape[0]):
        over = used[k] / max(1, room[k]) - 1
        if over > 0:
            limit[k] = min(_LIMIT_MOST * dearest, limit[k] + dearest * _LIMIT_PULL / calm * min(1.0, over))
        else:
            limit[k] *= 1 + _LIMIT_PULL / calm * over
