"""What happens later: each effect at its own moment and in order, whenever somebody looks next."""

import heapq
from collections.abc import Callable
from datetime import datetime


class Timeline:
    """Effects that are due, carried out when the time is asked for.

    Args:
        clock: the time, UTC.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._count = 0
        self.now = clock()
        """The moment that the effect under way happens at; after `advance`, the time."""

    def at(self, due: datetime, effect: Callable[[], object]) -> None:
        """Let `effect` happen at `due`; of several at once, in the order of these calls."""
        self._count += 1
        heapq.heappush(self._due, (due, self._count, effect))

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        until = self._clock()
        while self._due and self._due[0][0] <= until:
            due, _, effect = heapq.heappop(self._due)
            self.now = max(self.now, due)
            effect()
        self.now = max(self.now, until)
