"""Virtual time: an event loop that jumps to its next timer instead of waiting for it.

Everything that runs on it (`asyncio.sleep`, timeouts, tasks) keeps its ordinary form, so the same
controllers serve the demo on the wall clock and a simulated day within a second. One thread, no
I/O and a FIFO ready queue: the order of events follows from the program alone.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""A fixed first moment, so that logs of two runs are equal."""
_TURNS_PER_MOMENT: Final = 200_000
"""More turns of the loop without time passing mean two controllers that answer each other for ever."""

T = TypeVar("T")


class Stuck(Exception):
    """The simulated program cannot go on: it waits for nothing, or spins without time passing."""


class VirtualClock:
    """Time that passes only by `advance`, in whole microseconds."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._passed = 0

    def now(self) -> datetime:
        """Return the simulated time, UTC."""
        return self._start + timedelta(microseconds=self._passed)

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return self._passed / 1_000_000

    def advance(self, seconds: float) -> None:
        """Let time pass: at least one microsecond, so that whoever waits gets closer to the end.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        self._passed += max(1, round(seconds * 1_000_000))


class _JumpingSelector(selectors.SelectSelector):
    """Asked to wait, it moves the clock and returns at once."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock
        self._turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("every task waits and no timer is set: nothing can ever happen")
        if timeout > 0:
            self._clock.advance(timeout)
            self._turns = 0
        self._turns += 1
        if self._turns > _TURNS_PER_MOMENT:
            raise Stuck(f"no time has passed for {_TURNS_PER_MOMENT} turns, at {self._clock.now()}")
        return []


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is the virtual clock's."""

    def __init__(self, clock: VirtualClock) -> None:
        self._virtual_clock = clock
        super().__init__(_JumpingSelector(clock))

    def time(self) -> float:
        return self._virtual_clock.seconds()


def run(main: Callable[[], Coroutine[Any, Any, T]], clock: VirtualClock) -> T:
    """Run `main` to its end in virtual time and return its result.

    Raises:
        Stuck: all tasks wait without a timer, or spin without time passing.
    """
    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock)) as runner:
        return runner.run(main())
