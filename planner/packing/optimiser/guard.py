"""Exact searches of OR-tools: repeatable, leaving signals alone, and ended when the time is over."""

import threading  # noqa: TID251 - the search is native code: only another thread can end it
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ortools.sat.python import cp_model

_PERIOD_SECONDS: Final = 0.02


def searcher(work: float, workers: int) -> cp_model.CpSolver:
    """Return a solver that stops after so much work, in deterministic seconds; workers take turns in one thread."""
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = workers
    # Workers that run side by side never find the same twice.
    solver.parameters.interleave_search = workers > 1
    solver.parameters.random_seed = 0
    # It would end its search at Ctrl-C, and leave the process with the default handler, which ends all.
    solver.parameters.catch_sigint_signal = False
    return solver


def keep_apart(
    model: cp_model.CpModel, is_on: Mapping[int, cp_model.IntVar], apart: Mapping[int, Collection[int]]
) -> None:
    """Let no two groups be on a machine that may not; `is_on` tells of those that matter, `apart` of their others."""
    for i, here in is_on.items():
        for j in apart[i]:
            if i < j and j in is_on:
                model.add_at_most_one(here, is_on[j])


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
