"""Where fresh seeds begin, and how long properties search.

A commit draws the same in every run, from the number in `seed.txt`: `make seeds` draws the next one. `make nightly`
hands over a random number and searches longer.
"""

import os
from pathlib import Path
from typing import Final

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, settings

_COMMITTED: Final = Path(__file__).with_name("seed.txt")
_TIMES: Final = int(os.environ.get("GROWTH_SEARCH", "1"))


def fresh(number: int) -> range:
    """Return so many seeds that nobody chose."""
    first = int(os.environ.get("GROWTH_SEED") or _COMMITTED.read_text())
    return range(first, first + number)


def blocks(seeds: range, size: int, *marks: pytest.MarkDecorator) -> list[ParameterSet]:
    """Return the seeds in parts of so many, each the parameter of a test: few enough for its time-out."""
    parts = (seeds[first : first + size] for first in range(0, len(seeds), size))
    return [pytest.param(part, id=f"{part.start}-{part.stop - 1}", marks=marks) for part in parts]


def searching(examples: int) -> settings:
    """Return settings of a property that draws so many examples in `make test`, anew from each number."""
    return settings(
        max_examples=examples * _TIMES,
        derandomize=False,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
