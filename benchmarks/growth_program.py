"""Growth's optimiser as a program of its own, which is given a problem's file as its peers are.

python -m benchmarks.growth_program PROBLEM
"""

import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from benchmarks.answer import PackingAnswer, read_answer, write_answer
from benchmarks.problem_file import read
from planner.packing.optimiser.solve import solve, warm
from simulator.peers.problem import PeerProblem


def run(path: Path, problem: PeerProblem) -> PackingAnswer:
    """Return what the program answers to a file, and how long it took and how much memory.

    Raises:
        subprocess.CalledProcessError: it failed; what it said is on standard error.
    """
    command = [sys.executable, "-m", "benchmarks.growth_program", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - this very Python
    return read_answer(problem, done.stdout)


def main(path: Path) -> None:
    """Print the answer to a file; code is compiled or loaded before, as a worker does before its first round."""
    problem = read(path)
    warm()
    began = time.monotonic()
    packing = solve(problem.packing)
    seconds = time.monotonic() - began
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numba", "ortools"))
    versions = f"Growth {version('growth-autoscaler')} on Python {platform.python_version()} with {libraries}"
    sys.stdout.write(write_answer(packing, seconds, versions))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
