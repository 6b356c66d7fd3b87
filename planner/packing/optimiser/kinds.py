"""Kinds: bins whose machines cost and hold the same, as one; what may be on one of them may be on the kind.

Machines of several zones are one kind. Where pods are tied to some of them, that is a wider problem than the real one:
what it costs at least, that costs at least.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.packing.optimiser.arrays import ENDLESS, Flags, Floats, Ints, Prices, Yard, most_taken, taken


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds that are worth buying, the cheapest first."""

    bins: tuple[tuple[int, ...], ...]
    """Of each kind."""
    taken: tuple[Mapping[int, int], ...]
    """What one machine of each kind takes of limits, of those that could be reached."""
    capacity: Ints
    """Of one machine, `[k, r]`."""
    price: Floats
    """Of one, `[k]`."""
    allowed: Flags
    """Whether a pod may be on some machine of a kind, `[i, k]`."""
    share: Floats
    """What a pod takes of a machine's cost, `[i, k]`."""
    most: Ints
    """Pods of a group that one machine holds, as far as resources and caps go, `[i, k]`."""


def kinds_of(yard: Yard, prices: Prices, pods: Ints, room: Ints) -> Kinds:
    """Return the kinds that can be bought for the pods, without those for which a cheaper one can always stand."""
    wanted, most = np.flatnonzero(pods), int(pods.sum())
    alike: dict[tuple[bytes, float, frozenset[tuple[int, int]]], list[int]] = {}
    # A limit that all pods together cannot reach is none.
    within_reach = room < most * most_taken(yard, room)
    for b in yard.paid.tolist():
        limits = frozenset((k, amount) for k, amount in taken(yard, b) if within_reach[k])
        if yard.allowed[wanted, b].any() and all(room[k] >= amount for k, amount in limits):
            alike.setdefault((yard.capacity[b].tobytes(), float(yard.price[b]), limits), []).append(b)
    worthwhile: list[tuple[list[int], dict[int, int]]] = []
    for (_, _, limits), bins in alike.items():
        amounts = dict(limits)
        allowed = yard.allowed[wanted][:, bins].any(axis=1)
        if not any(
            (yard.capacity[rivals[0]] >= yard.capacity[bins[0]]).all()
            and (yard.allowed[wanted][:, rivals].any(axis=1) >= allowed).all()
            and all(amount <= amounts.get(k, 0) for k, amount in less.items())
            for rivals, less in worthwhile
        ):
            worthwhile.append((bins, amounts))
    first = [bins[0] for bins, _ in worthwhile]
    groups, capacity = len(pods), yard.capacity[first]
    demand = yard.demand[:, None, :]
    fits = np.where(demand > 0, capacity // np.maximum(1, demand), ENDLESS).min(axis=2, initial=ENDLESS)
    return Kinds(
        bins=tuple(tuple(bins) for bins, _ in worthwhile),
        taken=tuple(amounts for _, amounts in worthwhile),
        capacity=capacity,
        price=yard.price[first],
        allowed=np.array([yard.allowed[:, bins].any(axis=1) for bins, _ in worthwhile], np.bool_).reshape(-1, groups).T,
        share=np.array([prices.share[:, bins].min(axis=1) for bins, _ in worthwhile], np.float64).reshape(-1, groups).T,
        most=np.minimum(fits, yard.per_node[:, None]),
    )
