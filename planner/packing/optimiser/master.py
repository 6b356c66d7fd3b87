"""The restricted master problem: how often to buy each known pattern, in parts; its duals price pods and limits.

The only linear programme of the optimiser. OR-tools' GLOP solves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.linear_solver import pywraplp

from planner.packing.optimiser.arrays import Floats, Ints
from planner.packing.optimiser.column import Column


@dataclass(frozen=True, slots=True)
class Relaxed:
    """An optimum over the known patterns."""

    cost: float
    """With what pods without a place cost."""
    times: Floats
    """How often each pattern is bought, in the order in which they were added."""
    pod: Floats
    """Dual of each group's pods, `[i]`, at least 0."""
    limit: Floats
    """What one more of a limit saves, `[k]`, at least 0."""
    missing: Floats
    """Pods without a place, `[i]`."""


class Master:
    """Grows by patterns.

    Args:
        left: pods that need a place, `[i]`.
        room: what limits leave for machines, `[k]`.
        most: what a pod may cost at most, `[i]`: its price without a place.
    """

    def __init__(self, left: Ints, room: Ints, most: Floats) -> None:
        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        solver = self._solver
        self._objective = solver.Objective()
        self._objective.SetMinimization()
        self._groups = np.flatnonzero(left)
        self._rows = {int(i): solver.Constraint(float(left[i]), solver.infinity()) for i in self._groups}
        self._limits = [solver.Constraint(-solver.infinity(), float(n)) for n in room]
        self._slack = {}
        self._size = left.shape[0]
        for i, row in self._rows.items():
            slack = solver.NumVar(0, solver.infinity(), "")
            row.SetCoefficient(slack, 1)
            self._objective.SetCoefficient(slack, float(most[i]))
            self._slack[i] = slack
        self._times = []

    def add(self, columns: Sequence[Column]) -> None:
        """Add patterns."""
        solver, rows, objective = self._solver, self._rows, self._objective
        for column in columns:
            times = solver.NumVar(0, solver.infinity(), "")
            objective.SetCoefficient(times, column.price)
            for i, number in zip(column.groups, column.numbers, strict=True):
                if i in rows:
                    rows[i].SetCoefficient(times, number)
            for k, amount in column.taken:
                self._limits[k].SetCoefficient(times, amount)
            self._times.append(times)

    def allow(self, most: Floats) -> None:
        """Change what pods without a place cost, `[i]`."""
        for i, slack in self._slack.items():
            self._objective.SetCoefficient(slack, float(most[i]))

    def solve(self) -> Relaxed | None:
        """Return the optimum; None where the solver finds none."""
        if self._solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        pod, missing = np.zeros(self._size), np.zeros(self._size)
        for i, row in self._rows.items():
            pod[i] = max(0.0, row.dual_value())
            missing[i] = self._slack[i].solution_value()
        return Relaxed(
            cost=self._objective.Value(),
            times=np.array([times.solution_value() for times in self._times]),
            pod=pod,
            limit=np.array([max(0.0, -row.dual_value()) for row in self._limits]),
            missing=missing,
        )
