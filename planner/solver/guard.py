"""Ends a search of OR-tools when the time is over: such a search counts work, but not to the millisecond."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ortools.sat.python import cp_model

_PERIOD_SECONDS: Final = 0.02


@contextmanager
def guarded(solver: cp_model.CpSolver, is_over: Callable[[], bool]) -> Iterator[None]:
    """Stop the solver's search as soon as the time is over; what it has found by then counts."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_PERIOD_SECONDS):
            if is_over():
                solver.stop_search()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
