"""Turns a burst of changes into one message."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from planner.lifecycle.wakes import QUICK_SECONDS

LONGEST_SECONDS: Final = 2.0
"""What goes on and on is sent at this rate."""
REASONS_TOLD: Final = 3


@dataclass(slots=True)
class _Burst:
    first: float
    last: float
    reasons: list[str] = field(default_factory=list)
    count: int = 0


class Bursts:
    """Collects reasons by receiver and sends each receiver one message per burst."""

    def __init__(
        self,
        send: Callable[[str, str], Awaitable[None]],
        *,
        quiet: float = QUICK_SECONDS,
        longest: float = LONGEST_SECONDS,
    ) -> None:
        """Take `send(receiver, reason)`, which must not raise, and the two times in seconds."""
        self._send = send
        self._quiet = quiet
        self._longest = longest
        self._open: dict[str, _Burst] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, receiver: str, reason: str) -> None:
        """Count one change for `receiver`."""
        now = asyncio.get_running_loop().time()
        burst = self._open.get(receiver)
        if burst is None:
            burst = self._open[receiver] = _Burst(now, now)
            task = asyncio.create_task(self._flush(receiver, burst))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        burst.last = now
        burst.count += 1
        if reason not in burst.reasons and len(burst.reasons) < REASONS_TOLD:
            burst.reasons.append(reason)

    async def close(self) -> None:
        """Drop what has not been sent."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._open.clear()

    async def _flush(self, receiver: str, burst: _Burst) -> None:
        now = asyncio.get_running_loop().time
        left = self._quiet
        while left > 0:
            await asyncio.sleep(left)
            left = min(burst.last + self._quiet, burst.first + self._longest) - now()
        del self._open[receiver]
        more = burst.count - len(burst.reasons)
        await self._send(receiver, ", ".join(burst.reasons) + (f" and {more} more" if more else ""))
