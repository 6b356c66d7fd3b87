"""The packer of commands that plan once and end: the optimiser in this very process, where it is worth its start."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Final

from planner.packing.check import fault_of
from planner.packing.greedy.pack import is_small, pack
from planner.packing.problem import Packer, Packing, PackingProblem

DEADLINE_SECONDS: Final = 2.0
"""As in a round of the worker."""
_QUIET_SECONDS: Final = 4.0
"""Loading what is compiled takes a second or two; compiling, a minute."""


def packer() -> Packer:
    """Return a packer that needs no process beside this one; nothing is imported for it before it has much to do."""
    return _pack


def _pack(problem: PackingProblem) -> Packing:
    if is_small(problem):
        return pack(problem)
    # Importing compiled code takes a second, which a command with few pods should not pay.
    from planner.packing.optimiser.solve import solve, warm  # noqa: PLC0415

    with _told_of():
        warm()
    end = monotonic() + DEADLINE_SECONDS
    packing = solve(problem, is_over=lambda: monotonic() > end)
    return pack(problem) if fault_of(problem, packing) else packing


@contextmanager
def _told_of() -> Iterator[None]:
    """Tell a person what is waited for, if it takes long."""
    note = "growth: compiling the optimiser, once after each installation; it takes a minute or two"
    timer = Timer(_QUIET_SECONDS, lambda: print(note, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
