"""Improves a joint plan: a few machines are emptied together and decided anew, under all rules between machines.

For plans that are too large to be decided as one. How long it goes on is counted in work, so that the same problem
always gets the same plan. Source: large neighbourhood search, as in Shaw, "Using constraint programming and local
search methods to solve vehicle routing problems", 1998.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from planner.packing.optimiser.part import is_divisible, part_of
from planner.packing.optimiser.whole import whole
from planner.packing.problem import PackedNode, Packing, PackingProblem

_MOST_PODS: Final = 30
_MOST_MACHINES: Final = 5
_WORK: Final = 0.04
"""Of one move, in OR-tools' deterministic seconds."""
_FREE_WASTE: Final = 0.1
"""What any machine counts as wasting at least, in the cheapest price: one that costs nothing is emptied, too."""
_PATIENCE: Final = 12
"""Moves without any gain, after which no more is expected."""


def improved(
    problem: PackingProblem, known: Packing, value: Sequence[float], work: float, is_over: Callable[[], bool]
) -> Packing:
    """Return a packing at least as good as the `known` one, with the steps on the way to it as `others`.

    Args:
        problem: with rules between pods of different machines.
        known: keeps all of them.
        value: of a pod, by group, in the units of prices.
        work: at most, in OR-tools' deterministic seconds.
        is_over: whether the time is over.
    """
    if not is_divisible(problem):
        return known
    nodes, steps = list(known.nodes), [known]
    # Where other answers are wanted than the first one, other machines are emptied; for the first one, 0 adds nothing.
    draw, idle = np.random.default_rng((len(nodes), problem.answers - 1)), 0
    while work > 0 and idle < _PATIENCE and not is_over():
        emptied = _chosen(problem, nodes, value, draw)
        work -= _WORK
        part = part_of(problem, nodes, emptied) if emptied else None
        if part is None or part.known is None:
            idle += 1
            continue
        answer = whole(part, part.known, _WORK, is_over)
        if answer is None or problem.cost(answer.packing.nodes) >= problem.cost(part.known.nodes):
            idle += 1
            continue
        idle = 0
        nodes = [node for n, node in enumerate(nodes) if n not in emptied] + list(answer.packing.nodes)
        steps.append(replace(known, nodes=tuple(nodes)))
    return replace(steps[-1], others=tuple(reversed(steps[1:-1])))


def _chosen(
    problem: PackingProblem, nodes: Sequence[PackedNode], value: Sequence[float], draw: np.random.Generator
) -> set[int]:
    """Return machines, those that waste much more often than others; none where none of them is bought."""
    least = _FREE_WASTE * min((b.price for b in problem.bins if b.price), default=1)
    waste = {
        n: least + max(0.0, problem.bins[node.bin].price - sum(value[i] * m for i, m in node.counts.items()))
        for n, node in enumerate(nodes)
        if sum(node.counts.values()) <= _MOST_PODS
    }
    chosen: set[int] = set()
    pods = 0
    while waste and len(chosen) < _MOST_MACHINES:
        weights = np.array(list(waste.values()))
        n = int(draw.choice(list(waste), p=weights / weights.sum()))
        del waste[n]
        more = sum(nodes[n].counts.values())
        if pods + more <= _MOST_PODS:
            chosen.add(n)
            pods += more
    return chosen if any(problem.bins[nodes[n].bin].price for n in chosen) else set()
