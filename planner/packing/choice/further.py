"""The problem of a later turn: pods that earlier turns left, and the machines that these have opened, with their room.

An opened machine is a free bin of its own behind the bins of the problem. Its pods stay: who keeps apart from them may
not use it, and a group of which a machine may have only so many gets what is left of that.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem

_NO_LIMIT: Final = 1 << 40
"""More than any machine holds."""


def further(problem: PackingProblem, made: Packing, turn: int) -> PackingProblem:
    """Return the problem of placing what `made` leaves, on its machines and on those of this turn."""
    rationed = _rationed(problem, made)
    opened = [_opened(problem, node, rationed, len(problem.limits) + n) for n, node in enumerate(made.nodes)]
    bins = tuple(replace(one, capacity=(*one.capacity, *(_NO_LIMIT for _ in rationed))) for one in problem.bins)
    groups = tuple(_row(problem, made, i, turn, rationed) for i in range(len(problem.groups)))
    used = Counter[int]()
    for node in made.nodes:
        used.update(dict(problem.bins[node.bin].taken))
    limits = [left - used[limit] for limit, left in enumerate(problem.limits)]
    top_ups = tuple(
        replace(one, number=max(0, one.number - sum(node.bin in one.bins for node in made.nodes)))
        for one in problem.top_ups
    )
    return PackingProblem(groups, (*bins, *opened), (*limits, *(1 for _ in opened)), top_ups=top_ups)


def merged(problem: PackingProblem, made: Packing, answer: Packing) -> Packing:
    """Return both packings as one: pods on opened machines are added to these."""
    nodes = list(made.nodes)
    for node in answer.nodes:
        n = node.bin - len(problem.bins)
        if n < 0:
            nodes.append(node)
        else:
            nodes[n] = PackedNode(nodes[n].bin, dict(Counter(nodes[n].counts) + Counter(node.counts)))
    return Packing(tuple(nodes), answer.unplaced)


def _rationed(problem: PackingProblem, made: Packing) -> list[int]:
    """Return the groups of which opened machines have some already, and of which they may have only so many."""
    present = {i for node in made.nodes for i in node.counts}
    return [i for i in made.unplaced if i in present and problem.groups[i].per_node is not None]


def _opened(problem: PackingProblem, node: PackedNode, rationed: list[int], limit: int) -> BinRow:
    row = problem.bins[node.bin]
    taken = Counter[int]()
    for i, number in node.counts.items():
        for r, amount in enumerate(problem.groups[i].demand):
            taken[r] += amount * number
    free = (have - taken[r] for r, have in enumerate(row.capacity))
    rations = ((problem.groups[i].per_node or 0) - node.counts.get(i, 0) for i in rationed)
    return BinRow((*free, *rations), 0, (limit,), row.rank)


def _row(problem: PackingProblem, made: Packing, i: int, turn: int, rationed: list[int]) -> GroupRow:
    group, left = problem.groups[i], _left(made.unplaced, i)
    bins: set[int] = set()
    if left:
        bins.update(b for b in group.bins if _is_open(problem.bins[b], turn))
        bins.update(
            len(problem.bins) + n
            for n, node in enumerate(made.nodes)
            if node.bin in group.bins and group.apart.isdisjoint(node.counts)
        )
    demand = (*group.demand, *(int(i == other) for other in rationed))
    return replace(group, demand=demand, count=left, bins=frozenset(bins))


def _left(unplaced: Mapping[int, int], i: int) -> int:
    return unplaced.get(i, 0)


def _is_open(row: BinRow, turn: int) -> bool:
    return row.turn == turn or not (row.turn or row.price)
