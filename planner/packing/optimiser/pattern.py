"""Patterns: machines with their pods, as arrays that kernels fill."""

from typing import NamedTuple

import numpy as np

from planner.packing.optimiser.arrays import Ints
from planner.packing.optimiser.kernel import kernel


class Patterns(NamedTuple):
    """Machines with their pods, alike ones together; the first rows count."""

    bin: Ints
    copies: Ints
    groups: Ints
    """How many groups are on it."""
    group: Ints
    """Which, `[row, …]`."""
    number: Ints
    """How many pods of each, `[row, …]`."""


@kernel
def patterns(rows: int, width: int) -> Patterns:
    """Return room for so many patterns of so many groups at most."""
    return Patterns(
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((rows, width), np.int64),
        np.zeros((rows, width), np.int64),
    )
