"""Asks Temporal for work, and begins anew when its namespace was lost with its data.

Temporal's worker gives up for good when it is told that its namespace does not exist. The keeper
makes the namespace again, so that is no reason to end the process.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from temporalio.worker import Worker

log = structlog.stdlib.get_logger(__name__)

PAUSE_SECONDS: Final = 1.0
"""Parts of a Temporal server learn of a new namespace some seconds later than others: one may still not know it."""


@asynccontextmanager
async def polling(
    make: Callable[[], Worker], prepare: Callable[[], Awaitable[None]], begins: Callable[[], None]
) -> AsyncIterator[None]:
    """Let a worker ask for work while the body runs; what has begun at its end may finish.

    Args:
        make: returns a worker that has not run yet.
        prepare: returns when the namespace is there again.
        begins: is called whenever a worker begins.

    Raises:
        ExceptionGroup: the worker failed for another reason.
    """
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_poll(make, prepare, begins, stop), name="polling")
        try:
            yield
        finally:
            stop.set()


async def _poll(
    make: Callable[[], Worker], prepare: Callable[[], Awaitable[None]], begins: Callable[[], None], stop: asyncio.Event
) -> None:
    while not stop.is_set():
        begins()
        try:
            await _run(make(), stop)
        except RuntimeError as error:
            if not _lacks_namespace(error):
                raise
            log.warning("the namespace in Temporal is gone: it is made anew, and work goes on")
            await _unless(stop, _prepared(prepare))


async def _run(worker: Worker, stop: asyncio.Event) -> None:
    """Run a worker until it fails or is to stop."""
    running = asyncio.create_task(worker.run())
    try:
        await _unless(stop, asyncio.shield(running))
    finally:
        if not running.done():
            await worker.shutdown()
            await running


async def _prepared(prepare: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(PAUSE_SECONDS)
    await prepare()


async def _unless(stop: asyncio.Event, work: Awaitable[None]) -> None:
    """Wait for `work`, or give it up as soon as all is to stop."""
    task = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        task.cancel()
        stopping.cancel()


def _lacks_namespace(error: BaseException | None) -> bool:
    """Return whether a worker failed for the lack of its namespace. Source: temporalio 1.35, measured."""
    while error is not None:
        if "Namespace" in str(error) and "not found" in str(error):
            return True
        error = error.__cause__
    return False
