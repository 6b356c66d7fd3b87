"""Who packs in a history: the fallback, which is at hand at once; in each tenth the optimiser, as in a worker."""

from dataclasses import replace
from functools import partial
from typing import Final

from activities.ports.ports import Packers, ReadyPackers

_EVERY: Final = 10
_WHICH: Final = 7
_WORK: Final = 100_000
"""Enough for the pods of a history: searches end at the same plans or near them, in a twentieth of the time."""


def packers_of(seed: int) -> Packers:
    """Return what gives the rounds of a history their packer: the same plans in any process, as work is counted."""
    if seed % _EVERY != _WHICH:
        return ReadyPackers()
    # Importing compiled code takes a second or two, which the other histories do not need.
    from planner.packing.optimiser.effort import ROUND  # noqa: PLC0415
    from planner.packing.optimiser.solve import solve  # noqa: PLC0415

    effort = replace(ROUND, placing=_WORK, improving=_WORK, improving_a_machine=_WORK)
    return ReadyPackers(lambda: partial(solve, effort=effort))
