"""For how long a client and the API server have been there together, without a break.

What was not seen is not judged: `planner.lifecycle.clocks.deadlines`. A call that is lost now and then is no break.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

AWAY_AFTER: Final = timedelta(seconds=5)
"""Calls time out after four seconds: an API server that answers none for longer is away."""


class Presence:
    """Counts from the client's own start, or from the end of the last time in which no call was answered.

    Args:
        elapsed: seconds since some moment, by a clock that nobody sets.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._since = elapsed()
        self._failing_since: float | None = None

    def note(self, *, is_answered: bool) -> None:
        """Take in that a call was answered, or that it was not."""
        now = self._elapsed()
        if not is_answered:
            self._failing_since = now if self._failing_since is None else self._failing_since
            return
        if self._is_away(now):
            self._since = now
        self._failing_since = None

    def lasts(self) -> timedelta:
        """Return for how long it has lasted: no time while the API server is away."""
        now = self._elapsed()
        return timedelta() if self._is_away(now) else timedelta(seconds=now - self._since)

    def _is_away(self, now: float) -> bool:
        return self._failing_since is not None and now - self._failing_since >= AWAY_AFTER.total_seconds()
