"""A history from a seed: a world and a driver in virtual time, a story that happens to them, and a log."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from activities.cache import Cache
from activities.cluster import (
    CONFIG_MAPS,
    KWOK_NODE_CLASSES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    PODS,
    Object,
    WatchEvent,
)
from activities.observe import SURROUNDINGS
from planner.lifecycle.step import Decision
from simulator.changes import follow
from simulator.clock import VirtualClock, run
from simulator.connection import Connection
from simulator.drive import Driver
from simulator.oracle import Oracle
from simulator.view import View, look
from simulator.world import World

_CACHED: Final = (*SURROUNDINGS, NODE_POOLS, KWOK_NODE_CLASSES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
_LOOK_SECONDS: Final = 0.25
_LOG_TOLD: Final = 40
"""Last lines of the log in the message of a story that waits in vain."""


class NeverSeen(AssertionError):
    """A story waited in vain; the message holds what was seen instead."""


class Simulation:
    """What a story acts on: the world, the worker that is alive, and the oracle.

    Args:
        seed: decides latencies and the scheduler's ties.
        clock: virtual time.
        group: where the tasks of the simulation run.
        most_servers: bound for the oracle.
        losses: share of the worker's calls to the API server that get no answer.
    """

    def __init__(
        self, seed: int, *, clock: VirtualClock, group: asyncio.TaskGroup, most_servers: int, losses: float
    ) -> None:
        self._losses = losses
        self._seed = seed
        self._clock = clock
        self._group = group
        self._lives = 0
        self._life: tuple[Driver, Connection, asyncio.Task[None]] | None = None
        self._servers_changed = asyncio.Event()
        self._told: dict[str, str] = {}
        self.world = World(now=clock.now, seed=seed)
        self.oracle = Oracle(most_servers)
        self.log: list[str] = []

    def begin(self) -> list[asyncio.Task[None]]:
        """Set the world in motion and return its tasks."""
        watches = (
            self.world.run(),
            follow(self.world.cluster, PODS, self._note_pod),
            follow(self.world.cluster, NODE_REQUESTS, self.oracle.note_request),
            follow(self.world.cluster, CONFIG_MAPS, lambda _: self._servers_changed.set()),
            self._note_servers(),
        )
        return [self._group.create_task(watch) for watch in watches]

    def start(self) -> None:
        """Begin a new incarnation of the worker."""
        self._lives += 1
        name = f"{self._seed}-{self._lives}"
        connection = Connection(self.world.cluster, seed=name, losses=self._losses)
        cache = Cache(connection, _CACHED, sleep=_pause)
        driver = Driver(self.world.ports(connection, cache), cache, run=name, tell=self.tell)
        self._life = (driver, connection, self._group.create_task(driver.run()))
        self.tell("worker", f"incarnation {self._lives} begins")

    async def crash(self) -> None:
        """Kill the worker as SIGKILL does: nothing that it still does has an effect. Without a worker, nothing."""
        if self._life is None:
            return
        _, connection, task = self._life
        self._life = None
        connection.cut()
        task.cancel()
        await asyncio.wait([task])
        self.tell("worker", "is dead")

    def ask(self, removal: str, decision: Decision) -> None:
        """Send a person's message to a removal.

        Raises:
            LookupError: no worker is alive, or it drives no such removal.
        """
        if self._life is None:
            raise LookupError("no worker is alive")
        self._life[0].ask(removal, decision)

    def scale(self, name: str, replicas: int) -> None:
        """Change how many pods of a workload are wanted."""
        self.world.workloads.scale(name, replicas)
        self.world.wake()

    def tell(self, who: str, what: str) -> None:
        """Put a line into the log."""
        self.log.append(f"{self._clock.seconds():10.3f} {who}: {what}")

    async def look(self) -> View:
        """Return what there is now."""
        return await look(self.world)

    async def until(self, holds: Callable[[View], bool], what: str, *, within: float) -> View:
        """Wait until something can be seen and return all that is seen then.

        Args:
            holds: whether it can be seen.
            what: what it is, for the message.
            within: seconds.

        Raises:
            NeverSeen: it was not seen in time.
        """
        deadline = self._clock.seconds() + within
        while True:
            view = await self.look()
            if holds(view):
                self.tell("story", f"saw {what}")
                return view
            if self._clock.seconds() >= deadline:
                seen = f"pods {view.placement()}\nservers {sorted(view.servers)}\nobjects {view.phases()}"
                log = "\n".join(self.log[-_LOG_TOLD:])
                raise NeverSeen(f"seed {self._seed}: not seen within {within} s: {what}\n{seen}\n{log}")
            await asyncio.sleep(_LOOK_SECONDS)

    def _note_pod(self, event: WatchEvent) -> None:
        self.oracle.note_pod(event)
        name, node = event.object["metadata"]["name"], event.object["spec"].get("nodeName", "")
        what = "is gone" if event.type == "DELETED" else f"is on {node}" if node else "waits"
        if self._told.get(name) != what:
            self._told[name] = what
            self.tell(f"pod/{name}", what)

    async def _note_servers(self) -> None:
        known: set[str] = set()
        while True:
            await self._servers_changed.wait()
            self._servers_changed.clear()
            servers = (await self.look()).servers
            self.oracle.note_servers(servers)
            for name in sorted(known ^ set(servers)):
                self.tell(f"server/{name}", "exists" if name in servers else "is gone")
            known = set(servers)


async def _pause(_wanted: float) -> None:
    """Replace the cache's random pauses, which no seed decides."""
    await asyncio.sleep(1)


Story = Callable[[Simulation], Awaitable[None]]


def simulate(
    seed: int, story: Story, *, objects: Sequence[Object], most_servers: int = 100, losses: float = 0.0
) -> Simulation:
    """Let `story` happen to a world that holds `objects`, and return the simulation with its log.

    The same seed and story give the same log, in any process.

    Raises:
        ExceptionGroup: the story, the driver or a controller failed; it holds the cause.
    """
    clock = VirtualClock()

    async def main() -> Simulation:
        async with asyncio.TaskGroup() as group:
            simulation = Simulation(seed, clock=clock, group=group, most_servers=most_servers, losses=losses)
            await simulation.world.apply(*objects)
            tasks = simulation.begin()
            simulation.start()
            await story(simulation)
            await simulation.crash()
            for task in tasks:
                task.cancel()
        return simulation

    return run(main, clock)
