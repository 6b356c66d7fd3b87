"""What machines for pods cost at least where limits bind: the dual of the linear programme in which pods are a fluid.

Shares walk to prices of machines and pods at once, and end far from the best where limits have prices, too. Here a
linear programme finds the prices of resources and limits, and the bound is worked out from them anew, so that no
tolerance of the solver counts.
"""

from typing import Final

import numpy as np
from ortools.linear_solver import pywraplp

from planner.packing.optimiser.arrays import Floats, Ints, Yard, taken
from planner.packing.optimiser.question import with_limits

_MOST_PARTS: Final = 20_000
"""Groups times bins; with more, it takes seconds."""


def bound_of_fluid(yard: Yard, pods: Ints, room: Ints) -> float:
    """Return what bought machines for the pods cost at least; 0 where the programme is too large or has no answer."""
    groups = np.flatnonzero(pods)
    if len(groups) * len(yard.paid) > _MOST_PARTS:
        return 0.0
    solver = pywraplp.Solver.CreateSolver("GLOP")
    endless, unit = solver.infinity(), float(yard.price.max())
    objective = solver.Objective()
    objective.SetMinimization()
    places = {int(i): solver.Constraint(float(pods[i]), endless) for i in groups}
    limits = [solver.Constraint(-endless, float(n)) for n in room]
    resources: dict[tuple[int, int], pywraplp.Constraint] = {}
    for b in yard.paid.tolist():
        bought = solver.NumVar(0, endless, "")
        objective.SetCoefficient(bought, float(yard.price[b]) / unit)
        for k, amount in taken(yard, b):
            limits[k].SetCoefficient(bought, amount)
        for r in np.flatnonzero(yard.capacity[b]).tolist():
            resources[b, r] = solver.Constraint(-endless, 0.0)
            resources[b, r].SetCoefficient(bought, -1)
        for i in groups[yard.allowed[groups, b]].tolist():
            part = solver.NumVar(0, endless, "")
            places[i].SetCoefficient(part, 1)
            for r in np.flatnonzero(yard.demand[i]).tolist():
                resources[b, r].SetCoefficient(part, float(yard.demand[i, r] / yard.capacity[b, r]))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return 0.0
    weight = np.zeros(yard.capacity.shape)
    for (b, r), row in resources.items():
        weight[b, r] = max(0.0, -row.dual_value())
    limit = np.array([max(0.0, -row.dual_value()) for row in limits]) * unit
    return _bound(yard, pods, room, weight, limit)


def _bound(yard: Yard, pods: Ints, room: Ints, weight: Floats, limit: Floats) -> float:
    """Return the bound that prices prove: of resources, as weights `[b, r]` within a machine, and of limits."""
    groups, total = np.flatnonzero(pods), weight.sum(axis=1)
    share = weight / np.where(total > 0, total, 1.0)[:, None] / np.maximum(1, yard.capacity)
    cost = yard.demand[groups] @ share.T * with_limits(yard, limit)
    allowed = yard.allowed[groups].copy()
    allowed[:, yard.free] = False
    least = np.where(allowed, cost, np.inf).min(axis=1)
    if not np.isfinite(least).all():
        return 0.0
    return float(least @ pods[groups]) - float(limit @ room)
