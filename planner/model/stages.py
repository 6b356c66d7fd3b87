"""The stages of a round, for whoever wants to know how long each takes: the planner has no clock of its own.

`read` lays out what the snapshot says, `assemble` makes the packing problem, `pack` solves it, `check`
lets all pods land and splits anew where some do not, `decide` is all else: requests, removals, reasons, reports.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Literal, Protocol

Stage = Literal["read", "assemble", "pack", "check", "decide"]
STAGES: Final[tuple[Stage, ...]] = ("read", "assemble", "pack", "check", "decide")
"""In the order in which they begin. `assemble` and `pack` are within `check`, and may come more than once."""


class Stages(Protocol):
    """Told of each stage."""

    def __call__(self, stage: Stage, /) -> AbstractContextManager[object]:
        """Return what is entered when the stage begins and left when it ends."""
        ...


def unwatched(stage: Stage, /) -> AbstractContextManager[object]:
    """Watch nothing."""
    del stage
    return nullcontext()
