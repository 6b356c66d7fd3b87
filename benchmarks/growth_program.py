"""Growth's optimiser in a process of its own; also as a program that is given a problem's file as its peers are.

python -m benchmarks.growth_program PROBLEM
"""

import multiprocessing
import platform
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.answer import PackingAnswer, peak_bytes, read_answer, write_answer
from benchmarks.objects import packing_of, snapshot_of
from benchmarks.problem_file import read, read_instance
from planner.packing.optimiser.effort import ROUND, Effort
from planner.packing.optimiser.solve import solve, warm
from planner.packing.problem import Packing, PackingProblem
from planner.plan import plan
from simulator.peers.problem import PeerProblem


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
    """Solve a problem with the optimiser in a new process."""
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


def run(path: Path, problem: PeerProblem) -> PackingAnswer:
    """Return the program's answer to a file, with its seconds and its bytes of memory.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is on standard error.
    """
    command = [sys.executable, "-m", "benchmarks.growth_program", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - this very Python
    return read_answer(problem, done.stdout)


def main(path: Path) -> None:
    """Print the answer to a file; code is compiled or loaded before, as a worker does before its first round.

    Where pods are spread, all that a round decides is asked: domains are not the optimiser's alone.
    """
    problem = read(path)
    snapshot = snapshot_of(read_instance(path)) if problem.spreads else None
    warm()
    began = time.monotonic()
    answer = solve(problem.packing) if snapshot is None else plan(snapshot, solve)
    seconds = time.monotonic() - began
    packing = answer if isinstance(answer, Packing) else packing_of(problem, answer)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numba", "ortools"))
    versions = f"Growth {version('growth-autoscaler')} on Python {platform.python_version()} with {libraries}"
    sys.stdout.write(write_answer(packing, seconds, versions))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
