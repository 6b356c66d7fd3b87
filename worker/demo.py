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
import tempfile
import time
from pathlib import Path
from typing import Final, NoReturn

from activities.cache import Cache
from simulator.world import CLUSTER_NAME, NAMESPACE, World
from worker.demo_play import Play, StageFailed
from worker.demo_scene import objects, prices
from worker.demo_screen import Screen
from worker.embedded import EmbeddedError, embedded_temporal
from worker.logs import set_up_logging
from worker.settings import Settings
from worker.temporal import connect
from worker.wiring import WATCHED, at_work, ports_on, utc_now

TEMPORAL_NAMESPACE: Final = "growth"
FAILED: Final = 1
INTERRUPTED: Final = 130
SEED: Final = 1
CONNECT_ATTEMPTS: Final = 10
"""Its port is open before it answers; on a busy machine that takes some seconds."""


def demo() -> NoReturn:
    """Show machines come and go with their pods. Needs no cluster, no token and no money, and takes half a minute."""
    set_up_logging("console", "error")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every terminal has a sign for the euro.
        sys.stdout.reconfigure(errors="replace")
    code = asyncio.run(_until_signal())
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # CPython can abort at its exit while the SDK's threads still run; all is stopped and removed by now.
    os._exit(code)


async def _until_signal() -> int:
    """Run the demo; a signal ends it in good order, a second one at once."""
    screen = Screen(prices())
    loop = asyncio.get_running_loop()
    show = asyncio.create_task(_show(screen))

    def interrupt() -> None:
        if show.cancelling():
            os._exit(INTERRUPTED)
        show.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    code = 0
    try:
        try:
            await show
        except* (StageFailed, EmbeddedError) as group:
            code = FAILED
            for error in _leaves(group):
                screen.failure(str(error))
    except asyncio.CancelledError:
        code = INTERRUPTED
        screen.note("\nInterrupted: everything is stopped and removed.")
    return code


async def _show(screen: Screen) -> None:
    began = time.monotonic()
    screen.title()
    with tempfile.TemporaryDirectory(prefix="growth-demo-", ignore_cleanup_errors=True) as folder:
        async with embedded_temporal(Path(folder), namespace=TEMPORAL_NAMESPACE) as server:
            screen.note(f"Temporal UI while it runs: {server.ui}/namespaces/{TEMPORAL_NAMESPACE}/workflows")
            # The environment of a real worker is not the demo's, so no settings are read from it.
            settings = Settings.model_construct(temporal_namespace=TEMPORAL_NAMESPACE)
            client = await connect(settings, server.address, attempts=CONNECT_ATTEMPTS)
            world = World(now=utc_now, seed=SEED)
            await world.apply(*objects())
            cache = Cache(world.cluster, WATCHED)
            ports = ports_on(world.cluster, cache, cluster_name=CLUSTER_NAME, namespace=NAMESPACE)
            async with asyncio.TaskGroup() as group:
                moving = group.create_task(world.run())
                async with at_work(client, ports, cache, owns_server=True):
                    await Play(world, screen).perform(began)
                moving.cancel()


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
