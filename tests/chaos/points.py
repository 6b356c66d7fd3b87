"""The places where a worker can die, as they are met: nobody lists them.

A point is one side of one external effect within one activity, or one side of the activity itself.
The same activity for the same reason with the same effect is the same point, whenever it comes.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal

Side = Literal["before", "after"]

WHOLE: Final = "activity"
"""Stands for an activity as a whole: before it has begun, and after it has ended but before that was reported."""
BESIDE: Final = "worker"
"""Stands for an activity where there is none: what the keeper and the watches do."""


@dataclass(frozen=True, order=True, slots=True)
class Point:
    """A place where a worker can die."""

    activity: str
    reason: str
    """Why the lifecycle asked for it; empty for looks and rounds."""
    effect: str
    """Verb, resource and how many of its kind came before it in this execution."""
    side: Side

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.side} {self.effect} of {self.activity}{reason}"


@dataclass(slots=True)
class Execution:
    """One execution of an activity, or all that is beside activities."""

    activity: str
    reason: str = ""
    met: Counter[str] = field(default_factory=Counter)

    def effect(self, label: str) -> str:
        """Return the name of the next effect of this label."""
        self.met[label] += 1
        return f"{label} {self.met[label]}"


_current: ContextVar[Execution | None] = ContextVar("execution", default=None)


def enter(execution: Execution) -> None:
    """Say that what follows in this task belongs to `execution`."""
    _current.set(execution)


def current() -> Execution:
    """Return what this task belongs to."""
    found = _current.get()
    # What is beside activities repeats itself for ever, so there each label is one point.
    return Execution(BESIDE) if found is None else found


class Tap:
    """Watches the effects of one incarnation of the worker, and kills it where that is asked for.

    Args:
        meet: is told each point as it is met and returns whether the worker dies there.
    """

    def __init__(self, meet: Callable[[Point], bool]) -> None:
        self._meet = meet
        self.died = asyncio.Event()

    @property
    def is_dead(self) -> bool:
        """Whether nothing that this incarnation still does has an effect."""
        return self.died.is_set()

    def kill(self) -> None:
        """Let this incarnation have no effect from now on."""
        self.died.set()

    def met(self, execution: Execution, effect: str, side: Side) -> None:
        """Pass a point; afterwards the worker may be dead."""
        if not self.is_dead and self._meet(Point(execution.activity, execution.reason, effect, side)):
            self.kill()


class Recorder:
    """Keeps every point that is met, in order, each once."""

    def __init__(self) -> None:
        self.points: dict[Point, None] = {}

    def __call__(self, point: Point) -> bool:
        self.points.setdefault(point)
        return False


class KillAt:
    """Kills at the first meeting of a point, and never again."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self.is_done = False

    def __call__(self, point: Point) -> bool:
        if self.is_done or point != self._point:
            return False
        self.is_done = True
        return True
