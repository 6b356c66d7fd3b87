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
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, NoReturn

from cyclopts import Parameter

from activities.kube.cache import Cache
from activities.ports.ports import ReadyPackers
from simulator.world import CLUSTER_NAME, CLUSTER_UID, NAMESPACE, World
from worker.demo.comparison import compare
from worker.demo.person import Person
from worker.demo.scene import SEED, first_choice, objects, prices, snapshot_of, without, workloads
from worker.demo.screen import Screen
from worker.demo.stages import Performance, Programme, encore
from worker.demo.visit import api, invite, kubeconfig
from worker.demo.watch import StageFailed, Story, Watch
from worker.logs import set_up_logging
from worker.ports import ports_on, utc_now, watched
from worker.runtime.web import serve
from worker.runtime.wiring import at_work
from worker.settings import Settings
from worker.solver.in_process import packer
from worker.temporal.client import connect
from worker.temporal.embedded import EmbeddedError, embedded_temporal

FAILED: Final = 1
INTERRUPTED: Final = 130


TEMPORAL_NAMESPACE: Final = "growth"
CONNECT_ATTEMPTS: Final = 10
"""Its port is open before it answers; on a busy machine that takes some seconds."""


def demo(*, keep: Annotated[bool, Parameter(negative="")] = False, seed: int = SEED) -> NoReturn:
    """Show machines come and go with their pods. Needs no cluster, no token and no money, and takes about a minute.

    Args:
        keep: stay up at the end, with a machine to cancel and one to replay, until Ctrl-C; `growth status`,
            `growth why` and others look into it from another terminal, as it says there.
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
                # Else the terminal would be left without its cursor.
                screen.still()
                os._exit(INTERRUPTED)
            running.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
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
            # A terminal that was closed takes no more lines.
            with suppress(OSError):
                screen.note("\nInterrupted: everything is stopped and removed.")
        return code


async def show(screen: Screen, *, seed: int, keep: bool = False) -> None:
    """Run the demo; with `keep` stay at its end until cancelled.

    Raises:
        StageFailed: something was not as it should be.
        EmbeddedError: the Temporal server did not start.
    """
    screen.title()
    load = workloads(seed)
    sold_out = await first_choice(objects(), load)
    programme = Programme(load, sold_out, compare(await snapshot_of(without(sold_out), load)))
    with tempfile.TemporaryDirectory(prefix="growth-demo-", ignore_cleanup_errors=True) as folder:
        async with embedded_temporal(Path(folder), namespace=TEMPORAL_NAMESPACE) as server:
            ui = f"{server.ui}/namespaces/{TEMPORAL_NAMESPACE}/workflows"
            screen.note(f"Temporal UI {'until Ctrl-C' if keep else 'while it runs'}: {ui}")
            # The environment of a real worker is not the demo's, so no settings are read from it.
            settings = Settings.model_construct(temporal_namespace=TEMPORAL_NAMESPACE)
            client = await connect(settings, server.address, attempts=CONNECT_ATTEMPTS)
            world = World(now=utc_now, seed=seed)
            await world.apply(*objects(sold_out))
            cache = Cache(world.cluster, watched())
            # The forecast's: what it found to be missed most is what rounds buy.
            ports = ports_on(
                world.cluster,
                cache,
                cluster_name=CLUSTER_NAME,
                cluster_uid=CLUSTER_UID,
                namespace=NAMESPACE,
                packers=ReadyPackers(packer),
            )
            async with asyncio.TaskGroup() as group:
                story = Story(world, screen)
                loops = [group.create_task(world.run()), group.create_task(story.tell())]
                async with at_work(client, ports, cache, owns_server=True):
                    watch = Watch(world, screen, story)
                    await Performance(world, watch, Person(client, world), screen).run(programme)
                    if keep:
                        view = await encore(world, watch, screen)
                        with kubeconfig(Path(folder)) as (listener, file):
                            loops.append(group.create_task(serve(api(world), listener)))
                            screen.still()
                            invite(screen, view, file, server.address, ui)
                            await asyncio.Event().wait()
                for loop in loops:
                    loop.cancel()


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
