"""The packer of commands that plan once and end: the optimiser in this very process, where it is worth its start."""

import sys
from collections.abc import Callable
from typing import Final

from planner.packing.check import fault_of
from planner.packing.fallback.pack import pack
from planner.packing.fallback.quick import is_proven, quick_answer
from planner.packing.problem import Packer, Packing, PackingProblem
from worker.solver.allowance import Allowance, RoundTime

_NAME_ONE: Final = "name one with NUMBA_CACHE_DIR"


def packer() -> Packer:
    """Return a packer for one plan, which needs no process beside this one.

    Nothing is imported for it before a quick answer falls short. It takes no longer than a round of the worker does.
    """
    time = RoundTime(Allowance())

    def solved(problem: PackingProblem) -> Packing:
        with time.taken() as allowance:
            return _solved(problem, allowance.guard())

    return lambda problem: _answer(problem, solved)


def patient_packer() -> Packer:
    """Return a packer for plans that are compared: no clock ends its work, so each plan gets all of it."""
    return lambda problem: _answer(problem, _solved)


def _answer(problem: PackingProblem, solved: Callable[[PackingProblem], Packing]) -> Packing:
    quick = quick_answer(problem)
    if quick is not None and is_proven(problem, quick):
        return quick
    prepare()
    packing = solved(problem)
    return (quick or pack(problem)) if fault_of(problem, packing) else packing


def _solved(problem: PackingProblem, is_over: Callable[[], bool] = lambda: False) -> Packing:
    # Importing compiled code takes a second, which a command should not pay for nothing.
    from worker.solver.optimiser import solve  # noqa: PLC0415

    return solve(problem, is_over=is_over)


def prepare() -> None:
    """Load the optimiser; where its kernels have to be compiled, say so before that begins."""
    from worker.solver.optimiser import warm  # noqa: PLC0415

    warm(_tell_of_compiling)


def _tell_of_compiling(is_kept: bool) -> None:  # noqa: FBT001 - the kernels' signature
    """Tell a person what is waited for."""
    how_often = (
        "once after each installation" if is_kept else f"each time, as no folder for it can be written: {_NAME_ONE}"
    )
    print(f"growth: compiling the optimiser, {how_often}; it takes a minute or two", file=sys.stderr, flush=True)
