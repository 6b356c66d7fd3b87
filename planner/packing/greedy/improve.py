"""Improves a plan: machines that waste much are emptied together and bought anew, if that is cheaper.

A large neighbourhood search. Which machines are emptied, and how the new ones are filled, varies by
a fixed sequence of numbers, so that the same problem always gets the same plan; how long it goes on
is counted in work, not in time, for the same reason.
"""

from collections.abc import Sequence
from typing import Final

from planner.packing.greedy.construct import Taste, Work, by_loss
from planner.packing.greedy.index import ProblemIndex
from planner.packing.greedy.pod_prices import SCALE, PodPrices
from planner.packing.problem import PackedNode

_WORK: Final = 40_000
"""Pod classes on emptied machines, times machines, in all: some 0.2 s."""
_WORK_OF_A_TRY: Final = 300
"""What a try takes however small it is."""
_NEIGHBOURHOODS: Final = (3, 12, 5, 20, 2, 8)
"""How many machines are emptied at once, in turn."""
_SHARPNESS: Final = (6.0, 20.0, 2.0, 60.0)
_LANES: Final = 8
_SPREAD: Final = 4
"""Candidates looked at for each machine: the most wasteful of them is taken."""


class Dice:
    """A fixed sequence of numbers that look random.

    Source: the linear congruential generator of Knuth's MMIX.
    """

    def __init__(self) -> None:
        self._state = 1

    def below(self, bound: int) -> int:
        """Return the next number, at least 0 and below `bound`."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self._state >> 33) % bound

    def factor(self) -> float:
        """Return a number between a half and two, as often below one as above."""
        return 2.0 ** ((self.below(2001) - 1000) / 1000)


def improve(index: ProblemIndex, work: Work, prices: PodPrices) -> Work:
    """Return a plan that places the same pods and costs no more."""
    nodes = [node for node in work.nodes if index.price[node.bin]]
    fixed = [node for node in work.nodes if not index.price[node.bin]]
    limits_left, dice, spent = list(work.limits_left), Dice(), 0
    for turn in range(_WORK // _WORK_OF_A_TRY if nodes else 0):
        if spent >= _WORK:
            break
        size = min(len(nodes), _NEIGHBOURHOODS[turn % len(_NEIGHBOURHOODS)])
        chosen = _wasteful(index, nodes, prices, size, dice)
        taste = Taste(_SHARPNESS[turn % len(_SHARPNESS)], tuple(dice.factor() for _ in index.counts))
        trial = _emptied(index, [nodes[k] for k in chosen], limits_left)
        spent += _WORK_OF_A_TRY + _LANES * sum(1 for n in trial.left if n) * size
        old = index.cost(nodes[k] for k in chosen)
        by_loss(index, trial, prices, taste, _LANES)
        if any(trial.left) or (index.cost(trial.nodes), len(trial.nodes)) >= (old, size):
            continue
        gone = set(chosen)
        nodes = [node for k, node in enumerate(nodes) if k not in gone] + trial.nodes
        limits_left = trial.limits_left
    return Work(list(work.left), limits_left, [*fixed, *nodes])


def _wasteful(index: ProblemIndex, nodes: Sequence[PackedNode], prices: PodPrices, size: int, dice: Dice) -> list[int]:
    """Return `size` different machines, those that waste much of their price more often than others."""
    chosen: set[int] = set()
    while len(chosen) < size:
        candidates = [dice.below(len(nodes)) for _ in range(_SPREAD)]
        left = [k for k in candidates if k not in chosen]
        if left:
            chosen.add(max(left, key=lambda k: _waste(index, nodes[k], prices)))
    return sorted(chosen)


def _waste(index: ProblemIndex, node: PackedNode, prices: PodPrices) -> int:
    return index.price[node.bin] * SCALE - sum(prices.pod[i] * n for i, n in node.counts.items())


def _emptied(index: ProblemIndex, nodes: Sequence[PackedNode], limits_left: Sequence[int]) -> Work:
    work = Work([0] * len(index.counts), list(limits_left), [])
    for node in nodes:
        index.use(node.bin, work.limits_left, -1)
        for i, n in node.counts.items():
            work.left[i] += n
    return work
