"""A solver's process with one of the solvers of `solver_targets`, and a problem for it."""

import time
from contextlib import contextmanager
from pathlib import Path

from planner.packing.problem import BinRow, GroupRow, PackingProblem
from tests.worker import solver_targets
from worker.solver.process import SolverProcess

ROOT = Path(__file__).resolve().parents[2]
SMALLEST_FOR_SOLVER = 17
"""Up to 16 pods, the fallback proves its answer where nothing is free."""
WITHIN = 20.0


def problem(pods=SMALLEST_FOR_SOLVER):
    """Machines of 4 units for 10 and pods of 1."""
    return PackingProblem((GroupRow((1,), pods, frozenset({0})),), (BinRow((4,), 10),))


@contextmanager
def running(name, **options):
    """A solver's process with one of the targets; it may not be warm yet. Its test uses the fixture `folder`."""
    assert hasattr(solver_targets, name)
    solver = SolverProcess(f"tests.worker.solver_targets.{name}", **{"first_pause_seconds": 0.05, **options})
    solver.start()
    try:
        yield solver
    finally:
        solver.close()
        assert not solver.is_warm


def until(claim, within=WITHIN):
    deadline = time.monotonic() + within
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.01)
