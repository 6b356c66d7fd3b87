"""The solver's process: imports and compiles whatever takes long, then answers problem by problem.

Started by `worker.solver.process`: `python -m worker.solver.child <number of its socket> <dotted name of the solver>`.
"""

import gc
import os
import pkgutil
import shutil
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from planner.packing.problem import Packing, PackingProblem
from worker.solver.allowance import Allowance
from worker.solver.wire import Failure, receive, send

COMPILING: Final = "compiling"
"""Sent before `WARM`, when it will take minutes."""
WARM: Final = "warm"
"""Sent once, when problems may come."""
_NICENESS: Final = 5
"""Where both want the same core, the worker's watches, heartbeats and timers come first."""


COMPILED: Final = Path(sys.prefix) / "share" / "growth" / "kernels"
"""Where the image has the kernels that were compiled when it was built."""


class Solver(Protocol):
    """What the dotted name stands for: a module, as a rule."""

    def warm(self, compiles: Callable[[bool], None]) -> None:
        """Do everything that the first problem would otherwise wait for; call `compiles` if that will take minutes."""
        ...

    def solve(self, problem: PackingProblem, *, is_over: Callable[[], bool]) -> Packing:
        """Return a packing; soon, once `is_over` says so."""
        ...


def main() -> None:
    """Answer until the worker's end of the socket is closed."""
    number, name = sys.argv[1:]
    os.nice(_NICENESS)
    bring_kernels(os.environ.get("NUMBA_CACHE_DIR", ""))
    with socket.socket(fileno=int(number)) as worker:
        try:
            solver: Solver = pkgutil.resolve_name(name)
            solver.warm(lambda _is_kept: send(worker, COMPILING))
        except Exception as error:  # noqa: BLE001 - told to the worker, which goes on without
            send(worker, _failure(error))
            return
        # What was loaded stays: each look for garbage in it would take 0.06 s of the time of a packing.
        gc.collect()
        gc.freeze()
        send(worker, WARM)
        while True:
            try:
                problem, allowance = receive(worker)
            except EOFError:
                return
            send(worker, _answer(solver, problem, allowance))


def bring_kernels(cache: str) -> None:
    """Copy what the image has compiled to where numba looks: it reads from no folder that it may not write to.

    Only into a new folder, and in one step. It may fail: then they are compiled once more.
    """
    if not cache or not COMPILED.is_dir() or Path(cache).exists():
        return
    begun = Path(f"{cache}.{os.getpid()}")
    with suppress(OSError):
        shutil.copytree(COMPILED, begun)
        begun.rename(cache)


def _answer(solver: Solver, problem: PackingProblem, allowance: Allowance) -> Packing | Failure:
    try:
        return solver.solve(problem, is_over=allowance.guard())
    except Exception as error:  # noqa: BLE001 - told to the worker, where the fallback stands in
        return _failure(error)


def _failure(error: Exception) -> Failure:
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return Failure(line, "".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
