"""All turns as one problem, by prices so much higher for later turns that no machine of one is bought to save earlier.

It finds what packing turn after turn cannot: machines of a later turn that are fewer, as earlier ones hold others of
the pods. Numbers grow with each turn, so it is for few turns, or few pods.
"""

from dataclasses import replace
from math import gcd
from typing import Final

from planner.packing.problem import PackingProblem

_LARGEST: Final = 1 << 50
"""Sums of prices up to here are exact in the numbers that packers reckon with."""


def weighed(problem: PackingProblem) -> PackingProblem | None:
    """Return the problem with weighed prices; None where they would be too large to be reckoned with.

    Its costs are none of the problem's, and so is what is proven of them.
    """
    pods = sum(group.count for group in problem.groups)
    used = {b for group in problem.groups for b in group.bins}
    # Machines that cost nothing are chosen in their turn, too.
    prices = {b: max(1, problem.bins[b].price) for b in used if problem.bins[b].price or problem.bins[b].turn}
    step = gcd(*prices.values(), *(one.price for one in problem.top_ups)) or 1
    weighed_prices: dict[int, int] = {}
    most = sum(one.number * one.price // step for one in problem.top_ups)
    for turn in sorted({problem.bins[b].turn for b in prices}):
        of_turn = {b: price // step for b, price in prices.items() if problem.bins[b].turn == turn}
        weight = 1 if turn == 0 else most // gcd(*of_turn.values()) + 1
        weighed_prices |= {b: price * weight for b, price in of_turn.items()}
        most += pods * max(of_turn.values()) * weight
    if most > _LARGEST:
        return None
    bins = tuple(
        replace(one, price=weighed_prices[b]) if b in weighed_prices else one for b, one in enumerate(problem.bins)
    )
    top_ups = tuple(replace(one, price=one.price // step) for one in problem.top_ups)
    return replace(problem, bins=bins, top_ups=top_ups, relaxed=None)
