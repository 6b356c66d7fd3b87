"""A lower bound proven by exact pricing: what pods are worth at most, so that no machine is worth more than it costs.

Prices of pods come from the linear relaxation. For each bin an exact search tells the most valuable
filling; where one is worth more than its machine, it joins the relaxation, and at last all prices are
scaled down until none is. Source: Farley's bound for column generation.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from ortools.sat.python import cp_model

from planner.packing.optimiser.arrays import Floats, Ints, Yard
from planner.packing.optimiser.column import Column, Pool, column_of
from planner.packing.optimiser.guard import keep_apart, searcher
from planner.packing.optimiser.master import Master
from planner.packing.optimiser.question import Question, with_limits

MOST_GROUPS: Final = 100
"""With more, the exact search takes too long, and the prices of the first bound are nearly as good."""
_SCALE: Final = 1 << 40
"""What the dearest machine is worth in the whole numbers of the exact search."""
_WORK: Final = 0.05
"""Of one exact search, in the solver's deterministic time; unfinished, its bound still holds."""
SAFE: Final = 1 - 1e-9
"""Floats are rounded; the bound is to hold all the same."""


def proven_by_pricing(question: Question, known: Pool, pods: Ints, room: Ints, enough: float) -> float:
    """Return the least that any packing of these pods on machines that are bought costs.

    It ends when the bound is `enough`, or the effort is used up. 0 where nothing is proven.
    """
    yard, best = question.yard, 0.0
    dearest = np.full(len(pods), 2 * float(yard.price.max()))
    master, columns = Master(pods, room, dearest), list(known.columns)
    master.add(columns)
    for _ in range(question.effort.proof):
        relaxed = None if question.is_over() else master.solve()
        if relaxed is None:
            break
        cost = with_limits(yard, relaxed.limit)
        scale, new = 1.0, []
        for bins in _alike(yard, pods):
            cheapest = min(bins, key=lambda b: (cost[b], b))
            value, column = _most_valuable(yard, cheapest, relaxed.pod, pods, question.is_over)
            if value is None:
                return best
            scale = min(scale, cost[cheapest] / value if value > 0 else 1.0)
            if column is not None and value > cost[cheapest]:
                new.append(column)
        bound = scale * float(relaxed.pod @ pods) - float(relaxed.limit @ room)
        best = max(best, SAFE * bound)
        added = known.add(new)
        if best >= enough or not added:
            break
        master.add(added)
    return best


def _alike(yard: Yard, pods: Ints) -> list[list[int]]:
    """Return the paid bins, those together that hold the same: of them, the cheapest alone has to be looked at."""
    wanted = np.flatnonzero(pods)
    alike: dict[bytes, list[int]] = {}
    for b in yard.paid.tolist():
        key = yard.capacity[b].tobytes() + yard.allowed[wanted, b].tobytes()
        alike.setdefault(key, []).append(b)
    return list(alike.values())


def _most_valuable(
    yard: Yard, b: int, pod: Floats, pods: Ints, is_over: Callable[[], bool]
) -> tuple[float | None, Column | None]:
    """Return the most that pods on one machine are worth, and such a machine if it was found."""
    groups = [int(i) for i in np.flatnonzero((pods > 0) & (pod > 0) & yard.allowed[:, b])]
    if not groups:
        return 0.0, None
    model = cp_model.CpModel()
    number = {i: model.new_int_var(0, int(min(pods[i], yard.per_node[i])), "") for i in groups}
    for r in range(yard.capacity.shape[1]):
        model.add(sum(int(yard.demand[i, r]) * x for i, x in number.items()) <= int(yard.capacity[b, r]))
    _keep_apart(model, yard, number)
    unit = float(yard.price.max()) / _SCALE
    # Rounded up: the exact search may only overrate a filling.
    worth = {i: int(np.ceil(pod[i] / unit)) for i in groups}
    model.maximize(sum(worth[i] * x for i, x in number.items()))
    solver = searcher(_WORK, 1)
    status = solver.solve(model)
    if is_over() or status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    content = [(i, int(solver.value(x))) for i, x in number.items() if solver.value(x)]
    return solver.best_objective_bound * unit, column_of(yard, b, content)


def _keep_apart(model: cp_model.CpModel, yard: Yard, number: dict[int, cp_model.IntVar]) -> None:
    apart = {i: yard.apart[yard.apart_start[i] : yard.apart_start[i + 1]].tolist() for i in number}
    is_on: dict[int, cp_model.IntVar] = {}
    for i, x in number.items():
        if any(j in number for j in apart[i]):
            is_on[i] = model.new_bool_var("")
            model.add(x <= int(yard.per_node[i]) * is_on[i])
    keep_apart(model, is_on, apart)
