"""Sets the demo up: a Temporal server, a worker, and a simulated cluster for them."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from activities.kube.cache import Cache
from simulator.world import CLUSTER_NAME, NAMESPACE, World
from worker.demo.comparison import compare
from worker.demo.keep import encore
from worker.demo.person import Person
from worker.demo.preview import first_choice, snapshot_of
from worker.demo.scene import objects, without, workloads
from worker.demo.screen import Screen
from worker.demo.stages import Performance, Programme
from worker.demo.story import Story
from worker.demo.watch import Watch
from worker.ports import ports_on, utc_now, watched
from worker.runtime.wiring import at_work
from worker.settings import Settings
from worker.solver.in_process import packer
from worker.temporal.client import connect
from worker.temporal.embedded import embedded_temporal

TEMPORAL_NAMESPACE: Final = "growth"
CONNECT_ATTEMPTS: Final = 10
"""Its port is open before it answers; on a busy machine that takes some seconds."""


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
            ports = ports_on(world.cluster, cache, cluster_name=CLUSTER_NAME, namespace=NAMESPACE, packer=packer())
            async with asyncio.TaskGroup() as group:
                loops = [group.create_task(world.run()), group.create_task(Story(world, screen).tell())]
                async with at_work(client, ports, cache, owns_server=True):
                    watch = Watch(world, screen)
                    await Performance(world, watch, Person(client, world), screen).run(programme)
                    if keep:
                        await encore(world, watch, screen)
                        _invite(screen, server.address, ui)
                        await asyncio.Event().wait()
                for loop in loops:
                    loop.cancel()


def _invite(screen: Screen, address: str, ui: str) -> None:
    """Say how to look and what to try, in another terminal."""
    screen.note(f"\nLook into the Temporal UI: {ui}\nand in another terminal:")
    screen.command(f"export GROWTH_CLUSTER={CLUSTER_NAME} GROWTH_TEMPORAL_ADDRESS={address}")
    screen.command("growth removals list")
    screen.command(
        "growth removals cancel NAME    # one that cools off: it stays, and if it stays empty, cools off anew"
    )
    screen.command("growth removals skip NAME      # the parked one: treat its server as gone")
    screen.note("Ctrl-C ends it and removes everything.")
