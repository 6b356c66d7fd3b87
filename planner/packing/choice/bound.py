"""What no plan costs less than that chooses as the turns say: each turn has a bound of its own, and they add up.

Of the plans that place the same pods, the chosen one costs least of the last turn that it needs. So it has no machine
of a later one, and of the last one none beyond what the plan at hand pays for it. With that, the cost of each turn
has a bound where the machines of all others are free.
"""

from collections.abc import Sequence
from dataclasses import replace

from planner.packing.choice.turns import last_turn, up_to
from planner.packing.problem import BinRow, PackedNode, PackingProblem


def bounding(problem: PackingProblem, nodes: Sequence[PackedNode]) -> tuple[PackingProblem, tuple[PackingProblem, ...]]:
    """Return the problem up to the last turn that a plan uses, and one for each turn: bounds of these add up.

    There are none of a single turn, as its bound is that of the first.
    """
    last = last_turn(problem, nodes)
    whole = up_to(problem, last)
    return whole, tuple(_part(whole, nodes, turn, last) for turn in range(last + 1)) if last else ()


def _part(problem: PackingProblem, nodes: Sequence[PackedNode], turn: int, last: int) -> PackingProblem:
    """Return the problem in which only the machines of a turn have a price."""
    paid = sum(problem.bins[node.bin].price for node in nodes if problem.bins[node.bin].turn == last)
    limits = list(problem.limits)
    bins: list[BinRow] = []
    for row in problem.bins:
        if row.turn == turn or not row.price:
            bins.append(row)
            continue
        taken = list(row.taken)
        if row.turn == last:
            taken.append((len(limits), 1))
            limits.append(paid // row.price)
        on, amounts = tuple(limit for limit, _ in taken), tuple(amount for _, amount in taken)
        bins.append(replace(row, price=0, limits=on, amounts=amounts))
    return replace(problem, bins=tuple(bins), limits=tuple(limits), relaxed=None, top_ups=())
