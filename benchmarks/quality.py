"""How good the plans of `make bench` are known to be: a committed file, against which every run is compared."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

KNOWN: Final = Path(__file__).with_name("quality.json")
TOLERANCE: Final = 0.001
"""Of cost or bound: sums of floats of another CPU may lead a search another way."""


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
    """Return what is known, by row; nothing where there is no file yet."""
    if not path.exists():
        return {}
    return {row: Quality(**known) for row, known in json.loads(path.read_text()).items()}


def write_quality(known: Mapping[str, Quality], path: Path = KNOWN) -> None:
    """Write what is known from now on."""
    path.write_text(json.dumps({row: asdict(quality) for row, quality in known.items()}, indent=2) + "\n")


def worse(found: Quality, known: Quality) -> Iterator[str]:
    """Yield in words what is worse than it was known to be."""
    if found.unplaced != known.unplaced:
        if found.unplaced > known.unplaced:
            yield f"{found.unplaced:,} pods have no machine, where it were {known.unplaced:,}"
        return
    if found.cost > known.cost * (1 + TOLERANCE):
        yield f"the plan costs {found.cost / known.cost - 1:.2%} more"
    if found.bound < known.bound * (1 - TOLERANCE):
        yield f"the proven bound is {1 - found.bound / known.bound:.2%} lower"


def is_better(found: Quality, known: Quality) -> bool:
    """Return whether something is better than it was known to be, by more than the tolerance."""
    return found.unplaced <= known.unplaced and any(worse(known, found))


def with_best(found: Quality, known: Quality | None) -> Quality:
    """Return what was found, with the best plan of both."""
    is_comparable = known is not None and known.unplaced == found.unplaced
    return replace(found, best=min(found.best, known.best)) if known is not None and is_comparable else found
