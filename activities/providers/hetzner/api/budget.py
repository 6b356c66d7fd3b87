"""The budget of calls to Hetzner of one project: one bucket of tokens in front of every call.

A project has 3600 calls an hour, refilled one a second, which it shares with the cloud controller manager and
the storage driver. Who has used them up stops those, too.
"""

import asyncio
import time
from bisect import insort
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

from activities.ports.errors import RateLimited

_ROUNDING: Final = 1e-6
"""Tokens. What floats lose; without it a waiter could sleep for ever shorter times."""
_SECONDS_PER_HOUR: Final = 3600.0

_Place = tuple[bool, int]
"""Whether it is an ordinary call, and its number: who comes first in the queue has the smaller one."""


class CallBudget:
    """Tokens of a project; each call costs one.

    In any t seconds no more than burst plus per_second for each second are spent.

    Args:
        now: seconds by a clock that nobody sets.
        sleep: waits for so many seconds.
        burst: most tokens at a time: enough to create fifty servers at once.
        per_second: tokens that come back in a second: a little less than Hetzner's own 1, for the others.
        longest_wait_seconds: who would wait longer is sent away instead. That also bounds the queue.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        burst: int = 60,
        per_second: float = 0.9,
        longest_wait_seconds: float = 5.0,
    ) -> None:
        self._now = now
        self._sleep = sleep
        self._burst = float(burst)
        self._most_per_second = per_second
        self._per_second = per_second
        self._longest_wait_seconds = longest_wait_seconds
        self._tokens = float(burst)
        self._counted_at = now()
        self._paused_until = self._counted_at
        self._queue: list[_Place] = []
        self._numbers = count()

    async def spend(self, *, first: bool = False) -> None:
        """Take one token, and wait for it when there is none.

        Args:
            first: goes before all others, as deletions do: they end costs.

        Raises:
            RateLimited: the wait would be longer than the longest one; nothing was spent.
        """
        place = (not first, next(self._numbers))
        patience = self._longest_wait_seconds
        insort(self._queue, place)
        try:
            while (seconds := self._seconds_until(self._queue.index(place) + 1)) > 0:
                # Asked anew after each sleep: a deletion may have come before, a pause or another count as well.
                if seconds > patience + _ROUNDING:
                    raise RateLimited(
                        f"Growth has used up its calls to this project of Hetzner for now: more in {seconds:.0f} s",
                        seconds,
                    )
                patience -= seconds
                await self._sleep(seconds)
            self._tokens -= 1
        finally:
            self._queue.remove(place)

    def give_back(self) -> None:
        """Take back a token that was taken for a call which was not made."""
        self._refill()
        self._tokens = min(self._burst, self._tokens + 1)

    def pause(self, seconds: float) -> None:
        """Spend nothing for so many seconds from now, or for longer if that was said before."""
        self._paused_until = max(self._paused_until, self._now() + seconds)

    def observe(self, remaining: int, limit: int | None = None) -> None:
        """Take over Hetzner's own count where it is the smaller one: others spend from it as well.

        Args:
            remaining: calls that the project has left.
            limit: calls that the project has in an hour; None, or 0, when it is not told.
        """
        self._refill()
        self._tokens = min(self._tokens, float(remaining))
        if limit:
            self._per_second = min(self._most_per_second, limit / _SECONDS_PER_HOUR)

    def _seconds_until(self, tokens: int) -> float:
        """Return the seconds until so many tokens are there and no pause forbids to spend them."""
        self._refill()
        pause = self._paused_until - self._counted_at
        missing = tokens - self._tokens
        return max(pause, missing / self._per_second if missing > _ROUNDING else 0.0)

    def _refill(self) -> None:
        now = self._now()
        self._tokens = min(self._burst, self._tokens + (now - self._counted_at) * self._per_second)
        self._counted_at = now
