"""The rows of `make bench`, and what is aimed at in each."""

from dataclasses import dataclass, replace
from typing import Final

from benchmarks.case import Case, Family
from benchmarks.generator import Recipe

MOST_BYTES: Final = 400 << 20
"""Of memory, for any row."""


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """A problem and its target, on two cores in a warm process."""

    case: Case
    over: float
    """Cost above the proven bound, as a share of it."""
    seconds: float = 2.0
    first_seconds: float = 0.5
    """Until there is a plan at all."""
    is_of_best: bool = False
    """Whether `over` is meant above the best plan that is known: of few pods, bounds say little."""

    @property
    def target(self) -> str:
        """What is aimed at, as a person reads it."""
        return f"{self.over:.1%} of best" if self.is_of_best else "optimal" if not self.over else f"{self.over:.1%}"


def _row(recipe: Recipe, over: float, seconds: float = 2.0, family: Family = Family.DRAWN) -> BenchmarkRow:
    first = 0.1 if recipe.pods <= 1_000 else 0.5  # noqa: PLR2004 - the aim's own border
    return BenchmarkRow(Case(recipe, family), over, seconds, first, is_of_best=recipe.pods == 100)  # noqa: PLR2004 - as above


_THOUSAND: Final = Recipe(pods=1_000, shapes=50)
_MANY: Final = Recipe(pods=10_000, shapes=500)

ROWS: Final = (
    _row(Recipe(pods=30, shapes=5, mix=True), 0.0, 1.0),
    _row(Recipe(pods=30, shapes=None, mix=True), 0.0, 1.0),
    _row(Recipe(pods=100, shapes=50), 0.005),
    _row(Recipe(pods=100, shapes=50, mix=True), 0.005),
    _row(_THOUSAND, 0.01, 1.0),
    _row(replace(_THOUSAND, mix=True), 0.01, 1.0),
    _row(Recipe(pods=1_000, shapes=500), 0.05),
    _row(Recipe(pods=1_000, shapes=500, mix=True), 0.05),
    _row(Recipe(pods=10_000, shapes=50), 0.002, 1.0),
    _row(Recipe(pods=10_000, shapes=50, mix=True), 0.002, 1.0),
    _row(_MANY, 0.005),
    _row(replace(_MANY, mix=True), 0.013),
    _row(Recipe(pods=50_000, shapes=500, mix=True), 0.015, 3.0),
    _row(Recipe(pods=10_000, shapes=5), 0.005),
    _row(_THOUSAND, 0.01, family=Family.ONE_FAMILY),
    _row(_MANY, 0.005, family=Family.ONE_FAMILY),
    _row(_THOUSAND, 0.01, family=Family.LINEAR),
    _row(_MANY, 0.005, family=Family.LINEAR),
    _row(Recipe(pods=1_000, shapes=None, mix=True), 0.05),
    _row(Recipe(pods=10_000, shapes=None), 0.003, 5.0),
    _row(Recipe(pods=60, shapes=None), 0.05, family=Family.TRIPLETS),
    _row(Recipe(pods=300, shapes=None), 0.02, family=Family.TRIPLETS),
    _row(replace(_THOUSAND, mix=True, limits=True), 0.01),
    _row(replace(_MANY, mix=True, limits=True), 0.013),
    _row(replace(_THOUSAND, limits=True), 0.05, family=Family.ALL_SCARCE),
    _row(replace(_THOUSAND, mix=True, zonal=True), 0.01),
    _row(replace(_MANY, mix=True, zonal=True), 0.013),
)
"""Sizes of the study, plain and with constraints; then where peers are strong, then what is hard for everyone."""
