"""The rows of `make bench`: what is aimed at in each, and how good its plan is known to be, in a committed file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.case import Case, Family
from benchmarks.generator import Recipe

MOST_BYTES: Final = 400 << 20
"""Of memory, for any row."""


KNOWN: Final = Path(__file__).with_name("quality.json")
TOLERANCE: Final = 0.001
"""Of cost or bound: sums of floats of another CPU may lead a search another way."""


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


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known of one row."""

    unplaced: int
    """Pods without a machine."""
    bound: int
    """Proven, per hour in billionths."""
    cost: int
    """With the effort of a round, per hour in billionths."""
    best: int
    """Of all plans that anyone ever found for as many pods, per hour in billionths."""


def read_quality(path: Path = KNOWN) -> dict[str, Quality]:
    """Return the known quality by row; none where there is no file yet."""
    if not path.exists():
        return {}
    return {row: Quality(**known) for row, known in json.loads(path.read_text()).items()}


def write_quality(known: Mapping[str, Quality], path: Path = KNOWN) -> None:
    """Write what is known from now on."""
    path.write_text(json.dumps({row: asdict(quality) for row, quality in known.items()}, indent=2) + "\n")


def worse(quality: Quality, known: Quality) -> Iterator[str]:
    """Yield in words what is worse than it was known to be."""
    if quality.unplaced != known.unplaced:
        if quality.unplaced > known.unplaced:
            yield f"{quality.unplaced:,} pods have no machine, where it were {known.unplaced:,}"
        return
    if quality.cost > known.cost * (1 + TOLERANCE):
        yield f"the plan costs {quality.cost / known.cost - 1:.2%} more"
    if quality.bound < known.bound * (1 - TOLERANCE):
        yield f"the proven bound is {1 - quality.bound / known.bound:.2%} lower"


def is_better(quality: Quality, known: Quality) -> bool:
    """Return whether something is better than it was known to be, by more than the tolerance."""
    return quality.unplaced <= known.unplaced and any(worse(known, quality))


def with_best(quality: Quality, known: Quality | None) -> Quality:
    """Return the new quality, with the best plan of both."""
    is_comparable = known is not None and known.unplaced == quality.unplaced
    return replace(quality, best=min(quality.best, known.best)) if known is not None and is_comparable else quality
