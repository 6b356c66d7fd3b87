"""One incarnation of the worker: its driver, its own way to the API server, its cache and its clock."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from activities.cache import Cache
from activities.cluster import KWOK_NODE_CLASSES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.observe import SURROUNDINGS
from activities.ports import Ports
from simulator.connection import Connection, Health, PodEnds
from simulator.drive import Driver, Memory
from simulator.world import World

_CACHED: Final = (*SURROUNDINGS, NODE_POOLS, KWOK_NODE_CLASSES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)


class Incarnation:
    """A worker from its start to its death.

    Args:
        number: which one it is, from 1.
        world: where it works.
        seed: of the simulation.
        health: how its way to the API server fares.
        equip: changes its ports.
        now: the true time.
        tell: takes what happens, for the log.
        memory: what the planner of an earlier incarnation knew.
        pod_ends: sees each pod that it lets end.
    """

    def __init__(
        self,
        number: int,
        world: World,
        *,
        seed: int,
        health: Health,
        equip: Callable[[Ports], Ports],
        now: Callable[[], datetime],
        tell: Callable[[str, str], None],
        memory: Memory | None,
        pod_ends: PodEnds,
    ) -> None:
        name = f"{seed}-{number}"
        self._now = now
        self.number = number
        self.ahead = timedelta()
        """How much its clock is ahead of the true time; behind it, if negative."""
        self.has_died = asyncio.Event()
        """Set when its `health` has killed it: who started it has to clear it away."""
        self.connection = Connection(world.cluster, seed=name, health=health, died=self.has_died.set, pod_ends=pod_ends)
        cache = Cache(self.connection, _CACHED, sleep=_pause)
        ports = equip(replace(world.ports(self.connection, cache), now=self.now))
        self.driver = Driver(ports, cache, run=name, tell=tell, memory=memory)
        self.task: asyncio.Task[None] | None = None

    def now(self) -> datetime:
        """Return the time by its clock."""
        return self._now() + self.ahead

    async def end(self) -> None:
        """Let it die: nothing that it still does has an effect."""
        self.connection.cut()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])


async def _pause(_wanted: float) -> None:
    """Replace the cache's random pauses, which no seed decides."""
    await asyncio.sleep(1)
