"""What each side bought for one problem, in figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from benchmarks.generator import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One plan of one side."""

    placed: int
    """Pods that get a machine."""
    machines: int
    cost_per_hour: Decimal
    least_per_hour: Decimal
    """No plan for the pods that this one places costs less."""
    seconds: float = 0.0
    """Of the decision alone."""
    peak_bytes: int = 0
    """Largest resident set of the whole process."""
    is_cut: bool = False
    """Whether a limit of time of its own ended it before it had looked at all pods."""

    @property
    def over(self) -> float:
        """What it costs above the lower bound, as a share of that bound."""
        return float(self.cost_per_hour / self.least_per_hour) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One side with one set-up, and all its runs."""

    side: str
    runs: tuple[Run, ...]
    is_program: bool = True
    """Whether a program ran whose time and memory can be told; else rules stand for it."""
    versions: str = ""

    def middle(self, figure: Callable[[Run], float]) -> float:
        """Return the median of a figure over all runs."""
        return median(map(figure, self.runs))

    def span(self, figure: Callable[[Run], float]) -> tuple[float, float]:
        """Return the smallest and the largest of a figure over all runs."""
        figures = [figure(run) for run in self.runs]
        return min(figures), max(figures)


@dataclass(frozen=True, slots=True)
class SideBySideRow:
    """All ways of buying for one problem, Growth first."""

    recipe: Recipe
    ways: tuple[Way, ...]

    @property
    def growth(self) -> Way:
        """Growth's own runs."""
        return self.ways[0]

    def missing(self, way: Way) -> int:
        """Return the number of pods that a way leaves without a machine, the median of its runs."""
        return round(self.recipe.pods - way.middle(lambda run: run.placed))

    def over_growth(self, way: Way) -> float | None:
        """Return the cost of a way above Growth's plan, as a share; None where they place other numbers of pods."""
        if {run.placed for run in (*way.runs, *self.growth.runs)} != {self.recipe.pods}:
            return None
        return way.middle(cost) / self.growth.middle(cost) - 1


def cost(run: Run) -> float:
    """Return the price of a run's machines per hour."""
    return float(run.cost_per_hour)


def over(run: Run) -> float:
    """Return a run's cost above the lower bound, as a share of that bound."""
    return run.over


def versions(rows: Sequence[SideBySideRow]) -> list[str]:
    """Return the versions of all programs that ran, each once."""
    return list(dict.fromkeys(way.versions for row in rows for way in row.ways if way.versions))
