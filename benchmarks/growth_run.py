"""One run of Growth's optimiser in a process of its own: its plan, its seconds and its memory."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.answer import peak_bytes
from planner.packing.optimiser.effort import ROUND, Effort
from planner.packing.optimiser.solve import solve, warm
from planner.packing.problem import Packing, PackingProblem


@dataclass(frozen=True, slots=True)
class GrowthRun:
    """What it answered, and what that took."""

    packing: Packing
    seconds: float
    """Of the whole plan, in a warm process."""
    first_seconds: float
    """Until there would have been a plan if no more time had been given."""
    peak_bytes: int
    """Largest resident set of the process; 0 where the system does not tell."""


def growth_run(problem: PackingProblem, effort: Effort = ROUND) -> GrowthRun:
    """Return what the optimiser makes of a problem in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_run, problem, effort).result()


def _run(problem: PackingProblem, effort: Effort) -> GrowthRun:
    # A worker compiles or loads code once, before its first round.
    warm()
    began = time.monotonic()
    solve(problem, effort, is_over=lambda: True)
    first = time.monotonic()
    packing = solve(problem, effort)
    return GrowthRun(packing, time.monotonic() - first, first - began, peak_bytes())
