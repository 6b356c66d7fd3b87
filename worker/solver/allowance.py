"""What packings may take: each its processor time, so that a busy machine changes no plan; all of a round a wall time.

Work is counted in steps, and these limits are a guard: processor time for a machine that is slow, wall time for one
that is busy, because a round packs while it holds the fence. Source: docs/design.md#fence.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, process_time
from typing import Final

CPU_SECONDS: Final = 2.0
"""For one packing, of all threads of its process. There is a good plan long before."""
WALL_SECONDS: Final = 6.0
"""For all packings of a round, however many it tries: the fence's 15 s hold them, the reading before and the renewal
after. On an idle machine, three that take all their processor time fit."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one packing may take."""

    cpu_seconds: float = CPU_SECONDS
    """Of its process."""
    wall_seconds: float = WALL_SECONDS

    def guard(self) -> Callable[[], bool]:
        """Return what tells whether it is used up, counted from now on by the clocks of this process."""
        cpu_end, end = process_time() + self.cpu_seconds, monotonic() + self.wall_seconds
        return lambda: process_time() > cpu_end or monotonic() > end


class RoundTime:
    """The wall time that all packings of a round share; the time between them does not count.

    Args:
        allowance: of a packing that comes first.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._cpu_seconds = allowance.cpu_seconds
        self._left = allowance.wall_seconds

    @contextmanager
    def taken(self) -> Iterator[Allowance]:
        """Give what the next packing may take; what the block takes is gone.

        Without any time left, there is still an allowance: a packer's first plan stands when its time is over.
        """
        began = monotonic()
        try:
            yield Allowance(self._cpu_seconds, self._left)
        finally:
            self._left = max(0.0, self._left - (monotonic() - began))
