"""Plays stories, many at once, and says how each ended."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from temporalio.service import ServiceClient

from tests.chaos.points import KillAt, Point, Recorder
from tests.chaos.stage import Stage
from tests.chaos.stories import Story
from tests.chaos.verdict import verdict

AT_ONCE: Final = 16
"""More would only wait for each other: the server and Python share two cores."""
TRIES: Final = 3
"""A point that depends on who is first may not be met in every run of its story."""

_numbers = itertools.count(1)
T = TypeVar("T")
G = TypeVar("G")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a story ended."""

    story: str
    what: str
    """What was done to it."""
    wrong: tuple[str, ...]
    """Nothing if all was right in the end."""
    seconds: float
    lives: int
    """Incarnations of the worker that it took."""
    met: bool = True
    """What was to be done could be done."""

    def __str__(self) -> str:
        end = "; ".join(self.wrong) or ("right" if self.met else "not met")
        return f"{self.story}: {self.what}: {end}"


async def play(
    service: ServiceClient,
    story: Story,
    what: str,
    *,
    is_met: Callable[[Stage], bool] = lambda _: True,
    also: Callable[[Stage], list[str]] = lambda _: [],
    beside: Callable[[Stage], Awaitable[None]] | None = None,
    at: type[Stage] = Stage,
    **knobs: Any,
) -> Outcome:
    """Play a story on a stage of its own and judge its end.

    Args:
        service: connection to the Temporal server.
        story: what happens.
        what: what is done to it, for the table.
        is_met: whether that was done.
        also: what else is wrong in the end.
        beside: what somebody else does meanwhile, to its end.
        at: kind of the stage.
        knobs: of the stage.
    """
    began = time.monotonic()
    stage = at(service, f"c{next(_numbers)}", **knobs)
    try:
        async with stage.playing(*story.objects()):
            await asyncio.gather(story.play(stage), *(() if beside is None else (beside(stage),)))
            wrong = await verdict(stage, servers=story.servers, tainted=story.tainted)
            wrong += also(stage)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other stories go on and the table tells it
        wrong = [f"{type(one).__name__}: {one}" for one in _causes(error)]
    return Outcome(story.name, what, tuple(wrong), time.monotonic() - began, stage.lives, met=is_met(stage))


async def record(
    service: ServiceClient, stories: Sequence[Story], *, at: type[Stage] = Stage
) -> dict[str, list[Point]]:
    """Play stories undisturbed and return the points that each met.

    Raises:
        AssertionError: one did not end as it must.
    """

    async def one(story: Story) -> tuple[str, list[Point]]:
        recorder = Recorder()
        end = await play(service, story, "undisturbed", at=at, meet=recorder)
        assert not end.wrong, str(end)
        return story.name, list(recorder.points)

    return dict(await all_of(stories, one))


async def kill_at(service: ServiceClient, story: Story, point: Point, *, at: type[Stage] = Stage) -> Outcome:
    """Play a story whose worker dies at the point."""
    for _ in range(TRIES):
        kill = KillAt(point)
        end = await play(service, story, f"killed {point}", at=at, meet=kill, is_met=lambda _, kill=kill: kill.is_done)
        if end.met or end.wrong:
            break
    return end


async def all_of(given: Iterable[G], do: Callable[[G], Awaitable[T]], at_once: int = AT_ONCE) -> list[T]:
    """Do it for each, a few at a time, and return what came of it in order."""
    free = asyncio.Semaphore(at_once)

    async def one(item: G) -> T:
        async with free:
            return await do(item)

    return list(await asyncio.gather(*(one(item) for item in given)))


def _causes(error: BaseException) -> list[BaseException]:
    """Return what went wrong, without the groups around it."""
    if isinstance(error, BaseExceptionGroup):
        return [one for inner in error.exceptions for one in _causes(inner)]
    return [error]
