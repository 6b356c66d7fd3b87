"""What the machines of a benchmark's row cost at least, proven with all the time it takes and another solver.

python -m tests.planner.packing.optimiser.prove "100 x 50, mix"

The model is that of the fluid with whole machines: a pod may be cut, a machine may not. It is written down here anew,
with SCIP in place of CP-SAT and without what the optimiser leaves out or adds, so that one checks the other. A plan
that costs as much as this bound is an optimum.
"""

import sys
from dataclasses import dataclass

from ortools.linear_solver import pywraplp

from benchmarks.rows import ROWS
from planner.packing.problem import PackingProblem

MOST_SECONDS = 3600
_MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Proof:
    bound: float
    """In millionths per hour."""
    is_solved: bool


def proof_of(problem: PackingProblem, seconds: int = MOST_SECONDS) -> Proof:
    """Return the least that whole machines for pods in parts cost, as far as it is proven."""
    solver = pywraplp.Solver.CreateSolver("SCIP")
    solver.SetTimeLimit(1000 * seconds)
    bought = [solver.IntVar(0, solver.infinity(), "") for _ in problem.bins]
    parts = {
        (i, b): solver.NumVar(0, solver.infinity(), "") for i, group in enumerate(problem.groups) for b in group.bins
    }
    for i, group in enumerate(problem.groups):
        solver.Add(sum(parts[i, b] for b in group.bins) == group.count)
        for b in group.bins:
            fits = [c // d for d, c in zip(group.demand, problem.bins[b].capacity, strict=True) if d]
            most = min([group.count, *fits, *([] if group.per_node is None else [group.per_node])])
            solver.Add(parts[i, b] <= most * bought[b])
    for b, one in enumerate(problem.bins):
        for r, capacity in enumerate(one.capacity):
            taken = sum(group.demand[r] * parts[i, b] for i, group in enumerate(problem.groups) if b in group.bins)
            solver.Add(taken <= capacity * bought[b])
    for k, most in enumerate(problem.limits):
        amounts = [dict(one.taken) for one in problem.bins]
        solver.Add(sum(amount[k] * y for y, amount in zip(bought, amounts, strict=True) if k in amount) <= most)
    solver.Minimize(sum(one.price / _MILLION * y for one, y in zip(problem.bins, bought, strict=True)))
    status = solver.Solve()
    return Proof(solver.Objective().BestBound(), status == pywraplp.Solver.OPTIMAL)


def main(names: list[str]) -> None:
    """Print the proof of each row."""
    for row in ROWS:
        if str(row.case) in names:
            sys.stdout.write(f"{row.case}: {proof_of(row.case.problem.packing)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
