"""The optimiser as its process and commands load it: the import takes a second, so it is done when it is needed."""

from collections.abc import Callable

from planner.packing.optimiser import solve as ladder
from planner.packing.optimiser.kernel import before_compiling
from planner.packing.problem import Packing, PackingProblem


def warm(compiles: Callable[[bool], None]) -> None:
    """Load all that a first problem would wait for; call `compiles` when kernels begin to be compiled.

    It is told whether they can be kept. Compiling takes a minute or two, loading a second or two.
    """
    with before_compiling(compiles):
        ladder.warm()


def solve(problem: PackingProblem, *, is_over: Callable[[], bool]) -> Packing:
    """Return the packing that a round's effort finds, or the best one when `is_over` says so."""
    return ladder.solve(problem, is_over=is_over)
