"""Prices of pods: the cost of a pod in each kind of machine, and the least of these.

A machine's price is spread over rows: its resources, and a few more that say what resources alone do
not (below). Each row has a weight; the weights of a machine sum to one. Then each pod takes a share
of the price, and its least share over all machines it may be on is its own price. Weights are moved
step by step towards those that make the pods most valuable, which is the dual of the relaxation in
which machines are bought in parts and pods are split.

*Rows.* With x = demand / capacity, a set of pods that fits has Σ x ≤ 1 for each resource. It also has
Σ f(x) ≤ 1 for every dual feasible function f; those with f(x) = ⌊(k+1)x⌋/k (x itself where (k+1)x is
whole) for k = 1, 2, 3 know that of pods above a half only one fits, above a third only two, and so on.
And of a class that may have at most κ pods on one machine, each pod takes 1/κ of that row.
Source: S. P. Fekete and J. Schepers, "New classes of fast lower bounds for bin packing problems", 2001.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planner.packing.index import ProblemIndex

SCALE: Final = 1 << 20
"""Values are in billionths of the currency, divided by this: integers, so that nothing is lost."""
_FUNCTIONS: Final = (1, 2, 3)
_WORK: Final = 700_000
"""Visits of (pod class, machine, row) in all: some 0.2 s."""
_FEWEST_STEPS: Final = 12
_MOST_STEPS: Final = 60
"""Measured on 1,000 pods of 50 classes: 0.2 % below the optimum after 20 steps, nothing to gain after 60."""
_PULL: Final = 4.0
"""How far a weight moves in the first step."""
_SHARPNESS: Final = 20.0
"""How strongly a pod prefers its cheapest machine in the first step."""
_CALM: Final = 10
"""After so many steps, weights move half as far and pods are twice as choosy."""
_FAINT: Final = 0.1
"""Weight of a row that is no resource, at the start, where a resource has 1."""

Weights = dict[int, dict[int, float]]
"""How a bin's price is spread over rows, by bin and row."""


@dataclass(frozen=True, slots=True)
class PodPrices:
    """Values that together cost no machine more than its price, times `SCALE`."""

    pod: tuple[int, ...]
    """Of one pod, by group; 0 where no paid machine may hold it."""
    share: tuple[dict[int, int], ...]
    """What one pod takes of the price of each paid bin, by group and bin."""


def pod_prices(index: ProblemIndex, counts: Sequence[int], *, rough: bool = False) -> PodPrices:
    """Return prices for packing `counts` pods of each group into paid bins; `rough` ones take less time.

    For every set of pods that fits a paid bin, the sum of their pod prices is at most the bin's
    price: with weights w_r of sum 1 and u_ir what one pod takes of row r, Σ_i a_i · share_i =
    price · Σ_r w_r · (Σ_i a_i u_ir) ≤ price · Σ_r w_r, as each row holds; and a pod's price is its
    least share. Rounding is downwards.
    """
    market = _Market(index, counts)
    weights = market.first_weights()
    best, best_value = weights, -1.0
    for step in range(_FEWEST_STEPS if rough else market.steps()):
        calm = 1 + step / _CALM
        value, loads = market.loads(weights, _SHARPNESS * calm)
        if value > best_value:
            best, best_value = weights, value
        weights = _moved(weights, loads, _PULL / calm)
    return market.exact(best)


class _Market:
    def __init__(self, index: ProblemIndex, counts: Sequence[int]) -> None:
        self._index = index
        self._counts = counts
        self._resources = len(index.capacity[0]) if index.capacity else 0
        self._groups = [i for i, n in enumerate(counts) if n and index.paid_bins[i]]
        self._parts = {(i, b): self._takes(i, b) for i in self._groups for b in index.paid_bins[i]}
        self._relative = {
            key: tuple((row, above / below) for row, above, below in parts) for key, parts in self._parts.items()
        }

    def _takes(self, i: int, b: int) -> list[tuple[int, int, int]]:
        """Return the parts of each row of a bin that one pod of a group takes: row, and a fraction as two integers."""
        index, parts = self._index, []
        for r, d in index.demand[i]:
            capacity = index.capacity[b][r]
            parts.append((r, d, capacity))
            for k in _FUNCTIONS:
                whole, rest = divmod((k + 1) * d, capacity)
                if whole and rest:
                    parts.append((r + k * self._resources, whole, k))
                elif whole:
                    parts.append((r + k * self._resources, d, capacity))
        cap = index.problem.groups[i].per_node
        if cap is not None:
            parts.append(((1 + len(_FUNCTIONS)) * self._resources + i, 1, cap))
        return parts

    def steps(self) -> int:
        visits = sum(len(parts) for parts in self._relative.values())
        return max(_FEWEST_STEPS, min(_MOST_STEPS, _WORK // max(1, visits)))

    def first_weights(self) -> Weights:
        weights: Weights = {b: {} for b in self._index.paid}
        for (_, b), parts in self._relative.items():
            weights[b].update({row: 1.0 if row < self._resources else _FAINT for row, _ in parts})
        return {b: _normal(weight) for b, weight in weights.items()}

    def loads(self, weights: Weights, sharpness: float) -> tuple[float, Weights]:
        """Return the value of all pods under these weights, and how much of each row they want of each bin."""
        price, relative = self._index.price, self._relative
        value = 0.0
        loads: Weights = {b: {} for b in weights}
        for i in self._groups:
            shares: list[tuple[float, int]] = []
            for b in self._index.paid_bins[i]:
                weight, share = weights[b], 0.0
                for row, part in relative[i, b]:
                    share += weight[row] * part
                shares.append((share * price[b], b))
            least = min(shares)[0]
            value += self._counts[i] * least
            if least <= 0:
                continue
            wish = [((least / share) ** sharpness, b) for share, b in shares if share < least * 2]
            total = sum(strength for strength, _ in wish)
            for strength, b in wish:
                amount = self._counts[i] * strength / total
                load = loads[b]
                for row, part in relative[i, b]:
                    load[row] = load.get(row, 0.0) + amount * part
        return value, loads

    def exact(self, weights: Weights) -> PodPrices:
        whole = {b: {row: int(w * SCALE) for row, w in weight.items()} for b, weight in weights.items()}

        def share(i: int, b: int) -> int:
            price, weight = self._index.price[b], whole[b]
            parts = self._parts.get((i, b)) or self._takes(i, b)
            return sum(price * weight.get(row, 0) * above // below for row, above, below in parts)

        shares = tuple({b: share(i, b) for b in bins} for i, bins in enumerate(self._index.paid_bins))
        return PodPrices(pod=tuple(min(s.values(), default=0) for s in shares), share=shares)


def _moved(weights: Weights, loads: Weights, pull: float) -> Weights:
    """Return the weights, raised where a bin's row is wanted more than its others."""
    moved: Weights = {}
    for b, weight in weights.items():
        load = loads[b]
        most = max(load.values(), default=0.0)
        if most <= 0:
            moved[b] = weight
        else:
            moved[b] = _normal({row: w * (1 + pull * load.get(row, 0.0) / most) for row, w in weight.items()})
    return moved


def _normal(weight: dict[int, float]) -> dict[int, float]:
    total = sum(weight.values())
    return {row: w / total for row, w in weight.items()}
