"""`growth demo`: pods arrive, machines come, the load leaves, machines go; on a simulated cluster, with real Temporal.

Everything that `growth run` runs is the real thing: workflows, activities, caches, messages. Only the
cluster and its machines are simulated, so no cluster, no token and no money are needed.
"""

import asyncio
import io
import logging
import os
import signal
import sys
from typing import Annotated, Final, NoReturn

from cyclopts import Parameter

from worker.demo.scene import SEED, prices
from worker.demo.screen import Screen
from worker.demo.show import show
from worker.demo.watch import StageFailed
from worker.logs import set_up_logging
from worker.temporal.embedded import EmbeddedError

FAILED: Final = 1
INTERRUPTED: Final = 130


def demo(*, keep: Annotated[bool, Parameter(negative="")] = False, seed: int = SEED) -> NoReturn:
    """Show machines come and go with their pods. Needs no cluster, no token and no money, and takes under a minute.

    Args:
        keep: stay up at the end, with a machine to cancel and one to replay, until Ctrl-C.
        seed: another number is another load.
    """
    set_up_logging("console", "error")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every terminal has a sign for the euro.
        sys.stdout.reconfigure(errors="replace")
    code = asyncio.run(_until_signal(seed=seed, keep=keep))
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # CPython can abort at its exit while the SDK's threads still run; all is stopped and removed by now.
    os._exit(code)


async def _until_signal(*, seed: int, keep: bool) -> int:
    """Run the demo; a signal ends it in good order, a second one at once."""
    with Screen(prices()) as screen:
        loop = asyncio.get_running_loop()
        running = asyncio.create_task(show(screen, seed=seed, keep=keep))

        def interrupt() -> None:
            if running.cancelling():
                os._exit(INTERRUPTED)
            running.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        code = 0
        try:
            try:
                await running
            except* (StageFailed, EmbeddedError) as group:
                code = FAILED
                for error in _leaves(group):
                    screen.failure(str(error))
        except asyncio.CancelledError:
            code = INTERRUPTED
            screen.note("\nInterrupted: everything is stopped and removed.")
        return code


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
