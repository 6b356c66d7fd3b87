"""Lots: the pods of a problem in few parts, for programmes that grow with the number of groups.

With few groups, each is a lot of its own. With many, small pods that may be on the same machines and want their
resources in much the same proportion are taken together, as so many pods of their average: good enough to tell which
machines to buy, but no proof.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.packing.optimiser.arrays import Floats, Ints, Yard
from planner.packing.optimiser.kinds import Kinds

MOST_LOTS: Final = 100
"""Up to so many groups, each is a lot of its own."""
_LARGE: Final = 0.2
"""Of a machine, from which pods stay a lot of their own: they do not mix like a fluid."""
_MOST_LARGE: Final = 60
_MIXED: Final = 60
"""Lots that the others become, about."""
_DEARER: Final = 1.5
"""Over the least that a pod costs, from which a kind of machine is not looked at for it, where there is no proof."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Pods that count as alike."""

    demand: Ints
    """Of one pod, `[r]`; rounded where it is an average."""
    count: int
    most: dict[int, int]
    """How many of them one machine holds at most, by kind; only kinds that are looked at."""


def lots_of(yard: Yard, kinds: Kinds, pods: Ints) -> tuple[list[Lot], bool]:
    """Return the pods in lots, and whether each lot is a group."""
    groups = np.flatnonzero(pods)
    if len(groups) <= MOST_LOTS:
        return [_alone(yard, kinds, pods, int(i), None) for i in groups], True
    size = _sizes(yard, kinds, groups)
    is_large = np.zeros(len(groups), np.bool_)
    is_large[np.argsort(-size, kind="stable")[:_MOST_LARGE]] = True
    is_large &= size >= _LARGE
    lots = [_alone(yard, kinds, pods, int(i), _DEARER) for i in groups[is_large]]
    together: dict[bytes, list[int]] = {}
    for i in groups[~is_large].tolist():
        together.setdefault(kinds.allowed[i].tobytes(), []).append(i)
    worth = _worth(kinds, pods)
    whole = float(worth[groups[~is_large]].sum())
    for members in together.values():
        parts = max(1, round(_MIXED * float(worth[members].sum()) / whole))
        lots += [_mixed(yard, kinds, pods, part) for part in _in_proportion(yard, kinds, members, parts, worth)]
    return lots, False


def _sizes(yard: Yard, kinds: Kinds, groups: Ints) -> Floats:
    """Return how much of a machine a pod takes, on the kind on which it costs least."""
    # What only one pod of a machine may have, such as a port, says nothing of its size.
    capacity = np.where(kinds.capacity > 1, kinds.capacity, np.inf)
    best = kinds.share[groups].argmin(axis=1)
    return (yard.demand[groups] / capacity[best]).max(axis=1)


def _worth(kinds: Kinds, pods: Ints) -> Floats:
    """Return what the pods of each group cost at least, `[i]`."""
    least = kinds.share.min(axis=1)
    worth: Floats = np.where(np.isfinite(least), least, 0.0)
    return worth * pods


def _in_proportion(yard: Yard, kinds: Kinds, members: list[int], parts: int, worth: Floats) -> list[list[int]]:
    """Return groups in so many parts that are worth about the same, those beside each other that want alike."""
    share = yard.demand[members] / np.maximum(1, kinds.capacity.max(axis=0))
    first, second = np.argsort(-share.sum(axis=0), kind="stable")[[0, min(1, share.shape[1] - 1)]]
    ratio = (share[:, first] + 1e-12) / (share[:, second] + 1e-12)
    ordered = np.array(members)[np.argsort(ratio, kind="stable")]
    done = np.cumsum(worth[ordered]) - worth[ordered] / 2
    part = np.minimum(parts - 1, (parts * done / max(1e-12, worth[ordered].sum())).astype(np.int64))
    return [ordered[part == n].tolist() for n in range(parts) if (part == n).any()]


def _alone(yard: Yard, kinds: Kinds, pods: Ints, i: int, dearer: float | None) -> Lot:
    near = kinds.allowed[i]
    if dearer is not None:
        # Of a kind that cannot hold it, the share is endless.
        near = near & (kinds.share[i] <= dearer * kinds.share[i][near].min(initial=np.inf))
    return Lot(yard.demand[i], int(pods[i]), {int(k): int(kinds.most[i, k]) for k in np.flatnonzero(near)})


def _mixed(yard: Yard, kinds: Kinds, pods: Ints, members: list[int]) -> Lot:
    number = int(pods[members].sum())
    demand = (pods[members] @ yard.demand[members] + number // 2) // number
    share = kinds.share[members]
    near = kinds.allowed[members[0]] & (share <= _DEARER * share.min(axis=1, keepdims=True)).any(axis=0)
    return Lot(demand, number, {int(k): number for k in np.flatnonzero(near)})
