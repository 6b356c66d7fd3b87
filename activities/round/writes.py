"""How a round writes: only while its fence holds, each write on its own, none after an unknown outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from pydantic import ValidationError

from activities.ports.errors import GrowthError, Unreachable
from activities.round.fence import Hold

_AT_ONCE: Final = 8
"""Concurrent writes of one kind: a hundred machines take a dozen round trips, and the API server is not flooded."""

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)


class RoundWrites:
    """Runs the writes of one round and keeps count of what was not written."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self.failed = 0
        """Writes that were refused: the next round decides anew."""
        self.left = 0
        """Writes not begun, because the time was over or an outcome was unknown."""

    async def attempt(self, what: str, write: Callable[[], Awaitable[R]]) -> R | None:
        """Return what `write` returns, or None if it was left out or failed; `what` names it in the log."""
        if self._hold.is_kept or not self._hold.can_write():
            self.left += 1
            return None
        try:
            return await write()
        except Unreachable as error:
            # The call may still take effect. Nobody may decide anything before that is over.
            self._hold.keep()
            self.left += 1
            log.warning("%s: unknown outcome, the rest of the round is left to the next: %s", what, error)
        except (GrowthError, ValidationError) as error:
            self.refuse(what, error)
        return None

    def refuse(self, what: str, error: Exception) -> None:
        """Count and log a write that cannot be done; the next round decides on it anew."""
        self.failed += 1
        log.warning("%s failed: %s", what, error)

    async def each(
        self, items: Iterable[T], what: Callable[[T], str], write: Callable[[T], Awaitable[R]]
    ) -> list[tuple[T, R]]:
        """Attempt one write per item, some at once, and return the items that succeeded with their results."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(item: T) -> tuple[T, R] | None:
            async with gate:
                result = await self.attempt(what(item), lambda: write(item))
            return None if result is None else (item, result)

        done = await asyncio.gather(*(one(item) for item in items))
        return [pair for pair in done if pair is not None]
