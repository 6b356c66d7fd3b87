"""The stages of a round, for measuring the time of each: the planner has no clock of its own.

`read` lays out what the snapshot says, `assemble` makes the packing problem, `pack` solves it, `check`
lets all pods land and splits anew where some do not, `decide` is all else: requests, removals, reasons, reports.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Literal, Protocol

Stage = Literal["read", "assemble", "pack", "check", "decide"]
STAGES: Final[tuple[Stage, ...]] = ("read", "assemble", "pack", "check", "decide")
"""In the order in which they begin. `assemble` and `pack` are within `check`, and may come more than once."""


class Stages(Protocol):
    """Runs each stage in a context, such as one that measures its time."""

    def __call__(self, stage: Stage, /) -> AbstractContextManager[object]:
        """Return the context of the stage: entered when it begins, left when it ends."""
        ...


def unwatched(stage: Stage, /) -> AbstractContextManager[object]:
    """Return a context that does nothing."""
    del stage
    return nullcontext()


class Stopwatch:
    """Adds up the seconds of stages; the clock of a stage stands still while another one runs within it.

    Args:
        elapsed: seconds since some moment, by a clock that nobody sets.
    """

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._seconds: dict[Stage, float] = {}
        self._running: list[Stage] = []
        self._since = 0.0

    @property
    def seconds(self) -> Mapping[Stage, float]:
        """Seconds by stage, of those that ran, in the order of `STAGES`."""
        return {stage: self._seconds[stage] for stage in STAGES if stage in self._seconds}

    @property
    def summary(self) -> str:
        """The seconds as text: "0.420 s: assemble 0.050, pack 0.370"."""
        parts = ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in self.seconds.items())
        return f"{sum(self.seconds.values()):.3f} s: {parts}"

    @contextmanager
    def __call__(self, stage: Stage, /) -> Iterator[None]:
        """Return a context that runs the clock of a stage."""
        self._turn()
        self._running.append(stage)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def _turn(self) -> None:
        """Give the time since the last turn to the innermost stage that runs."""
        now = self._elapsed()
        if self._running:
            stage = self._running[-1]
            self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._since
        self._since = now
