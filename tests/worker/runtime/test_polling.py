"""A worker begins anew when its namespace was lost, stops in good order, and fails for everything else."""

import asyncio

import pytest

from worker.runtime import polling as module
from worker.runtime.polling import polling


class Polls:
    """A worker that fails at once for a reason, or runs until it is shut down."""

    def __init__(self, failure: str | None = None) -> None:
        self._failure = failure
        self._stopped = asyncio.Event()
        self.is_shut_down = False

    async def run(self) -> None:
        if self._failure is not None:
            raise RuntimeError("Workflow worker failed") from RuntimeError(self._failure)
        await self._stopped.wait()

    async def shutdown(self) -> None:
        self.is_shut_down = True
        self._stopped.set()


LOST = 'Poll failure: Status { code: NotFound, message: "Namespace growth is not found." }'


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)


def preparing(course: list[str]):
    async def prepare() -> None:
        course.append("prepare")

    return prepare


async def turn(holds) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0)


async def test_a_lost_namespace_is_prepared_and_another_worker_begins():
    course: list[str] = []
    workers = [Polls(LOST), Polls(LOST), Polls()]
    left = iter(workers)
    async with polling(lambda: next(left), preparing(course), lambda: course.append("begins")):
        await turn(lambda: len(course) == 5)
    assert course == ["begins", "prepare", "begins", "prepare", "begins"]
    assert [one.is_shut_down for one in workers] == [False, False, True]


async def test_what_else_fails_ends_the_body():
    with pytest.raises(ExceptionGroup) as failed:
        async with polling(lambda: Polls("permission denied"), preparing([]), lambda: None):
            await asyncio.Event().wait()
    (error,) = failed.value.exceptions
    assert str(error) == "Workflow worker failed"


async def test_it_stops_while_the_namespace_is_still_awaited():
    async def never() -> None:
        await asyncio.Event().wait()

    begun: list[Polls] = []

    def make() -> Polls:
        begun.append(Polls(LOST))
        return begun[-1]

    async with asyncio.timeout(5), polling(make, never, lambda: None):
        await turn(lambda: bool(begun))
        await asyncio.sleep(0.05)
    assert len(begun) == 1


async def test_a_body_that_fails_shuts_the_worker_down():
    worker = Polls()

    async def fail() -> None:
        async with polling(lambda: worker, preparing([]), lambda: None):
            await asyncio.sleep(0.01)
            raise ValueError("body")

    with pytest.raises(ExceptionGroup) as failed:
        await fail()
    assert [str(one) for one in failed.value.exceptions] == ["body"]
    assert worker.is_shut_down
