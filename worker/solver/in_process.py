"""The packer of commands that plan once and end: the optimiser in this very process, where it is worth its start."""

import sys
from time import monotonic
from typing import Final

from planner.packing.check import fault_of
from planner.packing.greedy.pack import is_small, pack
from planner.packing.problem import Packer, Packing, PackingProblem

DEADLINE_SECONDS: Final = 2.0
"""As in a round of the worker."""
_NAME_ONE: Final = "name one with NUMBA_CACHE_DIR"


def packer() -> Packer:
    """Return a packer that needs no process beside this one; nothing is imported for it before it has much to do."""
    return _pack


def _pack(problem: PackingProblem) -> Packing:
    if is_small(problem):
        return pack(problem)
    # Importing compiled code takes a second, which a command with few pods should not pay.
    from planner.packing.optimiser.solve import solve  # noqa: PLC0415

    prepare()
    end = monotonic() + DEADLINE_SECONDS
    packing = solve(problem, is_over=lambda: monotonic() > end)
    return pack(problem) if fault_of(problem, packing) else packing


def prepare() -> None:
    """Load the optimiser; where its kernels have to be compiled, say so before that begins."""
    from planner.packing.optimiser.kernel import before_compiling  # noqa: PLC0415
    from planner.packing.optimiser.solve import warm  # noqa: PLC0415

    with before_compiling(_tell_of_compiling):
        warm()


def _tell_of_compiling(is_kept: bool) -> None:  # noqa: FBT001 - the kernels' signature
    """Tell a person what is waited for."""
    how_often = (
        "once after each installation" if is_kept else f"each time, as no folder for it can be written: {_NAME_ONE}"
    )
    print(f"growth: compiling the optimiser, {how_often}; it takes a minute or two", file=sys.stderr, flush=True)
