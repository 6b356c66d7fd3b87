"""A trouble that is met again and again is told when it begins and when it changes, and seldom while it lasts."""

import time
from collections.abc import Callable
from typing import Any, Final

import structlog

PERIOD: Final = 60.0
"""Seconds between two lines about the same trouble: whoever looks later finds one near, and the log stays readable."""


class LogOnce:
    """Warns of one trouble.

    Args:
        log: where to.
        clock: seconds; a test's may stand still.
    """

    def __init__(self, log: structlog.stdlib.BoundLogger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._told: tuple[str, dict[str, Any]] | None = None
        self._at = 0.0

    def warn(self, event: str, **values: Any) -> None:
        """Tell of the trouble, unless the same was told within the last `PERIOD`."""
        if self._told == (event, values) and self._clock() < self._at + PERIOD:
            return
        self._told, self._at = (event, values), self._clock()
        self._log.warning(event, **values)

    def over(self) -> None:
        """Take note that the trouble is over: the next one is news."""
        self._told = None
