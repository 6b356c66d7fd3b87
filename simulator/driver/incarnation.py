"""One incarnation of the worker: its driver, its own ways to the API server and provider, its cache and its clock."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeVar

from activities.kube.cache import Cache, followed_since
from activities.ports.cluster import (
    CAPACITY_BUFFERS,
    NODE_POOLS,
    NODES,
    PROVISIONING_REQUESTS,
    Object,
    ObjectList,
    Resource,
)
from activities.ports.errors import GrowthError, NotFound
from activities.ports.ports import Ports
from activities.ports.provider import Provider
from activities.round.observe import SURROUNDINGS
from simulator.driver.connection import Health, PodEnds, WorkerConnection
from simulator.driver.driver import Driver, Memory
from simulator.world import World

_FASTEST_SECONDS: Final = 0.02
_SLOWEST_SECONDS: Final = 0.3
"""One way to a provider, across a continent at most."""
_SHORTEST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 10.0
"""Between two passes of a provider's own loop, as the worker has them."""

T = TypeVar("T")


class _Followed:
    """Reads from the cache, which follows no kind of SIG Autoscaling: nobody in a history has defined any."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def list(self, resource: Resource) -> ObjectList:
        """Return the objects of the resource that the cache knows of.

        Raises:
            NotFound: it is not defined.
            Unreachable: the cache knows none yet.
        """
        if resource in (PROVISIONING_REQUESTS, *CAPACITY_BUFFERS):
            raise NotFound(f"{resource.plural} are not defined")
        return await self._cache.list(resource)

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object that the cache knows of."""
        return await self._cache.get(resource, name, namespace=namespace)


class _Line:
    """A worker's way to a provider: a call takes a while, and one of a dead worker has no effect and no answer."""

    def __init__(self, seed: str, is_cut: Callable[[], bool]) -> None:
        self._random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets
        self._is_cut = is_cut

    async def __call__(self, work: Callable[[], T], /) -> T:
        await self._way()
        answer = work()
        await self._way()
        return answer

    async def _way(self) -> None:
        if not self._is_cut():
            await asyncio.sleep(self._random.uniform(_FASTEST_SECONDS, _SLOWEST_SECONDS))
        if self._is_cut():
            raise asyncio.CancelledError("the client was cut off")


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
        self.connection = WorkerConnection(
            world.cluster,
            seed=name,
            health=health,
            died=self.has_died.set,
            pod_ends=pod_ends,
            is_away=lambda: world.is_api_away,
            refuses_pod_writes=lambda: world.refuses_pod_writes,
        )
        lifecycles = [row.stored.resource for row in world.lifecycles]
        cache = Cache(self.connection, (*SURROUNDINGS, NODE_POOLS, world.node_classes, *lifecycles), sleep=_pause)
        line = _Line(f"line of {name}", lambda: self.connection.is_cut)
        watched_for = self.connection.presence.lasts
        watched_since = followed_since(cache, NODES, self.now, watched_for)
        own = world.ports(self.connection, _Followed(cache), now=self.now, call=line, watched_for=watched_for)
        ports = equip(replace(own, watched_since=watched_since))
        self._tended = tuple(ports.providers.values()) if world.do_workers_tend else ()
        self.driver = Driver(ports, cache, run=name, tell=tell, memory=memory, lifecycles=world.lifecycles)
        self.task: asyncio.Task[None] | None = None

    def now(self) -> datetime:
        """Return the time by its clock."""
        return self._now() + self.ahead

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for provider in self._tended:
                group.create_task(_tend(provider))
            await self.driver.run()

    async def end(self) -> None:
        """Let it die: nothing that it still does has an effect."""
        self.connection.cut()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])


async def _tend(provider: Provider) -> None:
    while True:
        pause = _LONGEST_PAUSE_SECONDS
        # What fails is tried again, as by the worker.
        with suppress(GrowthError):
            pause = await provider.tend()
        await asyncio.sleep(min(_LONGEST_PAUSE_SECONDS, max(_SHORTEST_PAUSE_SECONDS, pause)))


async def _pause(_wanted: float) -> None:
    """Replace the cache's random pauses, which no seed decides."""
    await asyncio.sleep(1)
