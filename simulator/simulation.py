"""A history from a seed: a world and a driver in virtual time, a story that happens to them, and a log."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS, Object, WatchEvent
from activities.ports.ports import Ports
from planner.lifecycle.step import Decision
from simulator.apiserver.changes import follow
from simulator.clock import VirtualClock, run
from simulator.driver.connection import Health, PodEnds
from simulator.driver.driver import Memory
from simulator.driver.incarnation import Incarnation
from simulator.oracle import Oracle
from simulator.view import View, look
from simulator.world import World

_AT_ONCE: Final = timedelta()
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
        losses: share of the worker's calls to the API server that get no answer, unless a start says otherwise.
        longest_binding: how long the scheduler may take for one.
        make_world: makes the world.
    """

    def __init__(
        self,
        seed: int,
        *,
        clock: VirtualClock,
        group: asyncio.TaskGroup,
        most_servers: int,
        losses: float,
        longest_binding: timedelta,
        make_world: Callable[..., World] = World,
    ) -> None:
        self._losses = losses
        self.seed = seed
        self._clock = clock
        self._lives = 0
        self._servers_changed = asyncio.Event()
        self._told: dict[str, str] = {}
        self._group = group
        self._spawned: set[asyncio.Task[None]] = set()
        self.equip: Callable[[Ports], Ports] = lambda ports: ports
        """Changes the ports of every incarnation from now on."""
        self.pod_ends: PodEnds = lambda _verb, _namespace, _name: None
        """Sees each pod that a worker lets end, of every incarnation from now on."""
        self.alive: list[Incarnation] = []
        """Workers that live, the oldest first."""
        self.world = make_world(now=clock.now, seed=seed, longest_binding=longest_binding)
        self.oracle = Oracle(most_servers)
        self.log: list[str] = []

    def begin(self) -> list[asyncio.Task[None]]:
        """Set the world in motion and return its tasks."""
        watches = (
            self.world.run(),
            follow(self.world.cluster, PODS, self._note_pod),
            follow(self.world.cluster, NODE_REQUESTS, self.oracle.note_request),
            follow(self.world.cluster, NODE_REMOVAL_REQUESTS, self.oracle.note_removal),
            self.world.follow_servers(self._servers_changed.set),
            self._note_servers(),
        )
        return [self._group.create_task(watch) for watch in watches]

    def start(self, health: Health | None = None, *, memory: Memory | None = None) -> Incarnation:
        """Begin a new incarnation of the worker, beside those that live, and return it."""
        self._lives += 1
        incarnation = Incarnation(
            self._lives,
            self.world,
            seed=self.seed,
            health=health or Health(losses=self._losses),
            equip=self.equip,
            now=self._clock.now,
            tell=self.tell,
            memory=memory,
            pod_ends=self.pod_ends,
        )
        incarnation.task = self._group.create_task(incarnation.run())
        self.alive.append(incarnation)
        self.tell("worker", f"incarnation {self._lives} begins")
        return incarnation

    async def crash(self, incarnation: Incarnation | None = None) -> None:
        """Kill a worker as SIGKILL does: nothing that it still does has an effect.

        Args:
            incarnation: which one; without it the oldest, and nothing when there is none.
        """
        victim = incarnation or next(iter(self.alive), None)
        if victim is None or victim not in self.alive:
            return
        self.alive.remove(victim)
        await victim.end()
        self.tell("worker", "is dead")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let `work` run beside the story, until the story ends."""
        task = self._group.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    async def end(self) -> None:
        """Kill all workers, and stop what was spawned."""
        for task in list(self._spawned):
            task.cancel()
        while self.alive:
            await self.crash()

    def ask(self, removal: str, decision: Decision) -> None:
        """Send a person's message to a removal.

        Raises:
            LookupError: no worker is alive, or it drives no such removal.
        """
        if not self.alive:
            raise LookupError("no worker is alive")
        self.alive[0].driver.ask(removal, decision)

    def scale(self, name: str, replicas: int) -> None:
        """Change how many pods of a workload are wanted."""
        self.world.workloads.scale(name, replicas)
        self.world.wake()

    def tell(self, subject: str, event: str) -> None:
        """Put a line into the log."""
        self.log.append(f"{self._clock.seconds():10.3f} {subject}: {event}")

    def now(self) -> datetime:
        """Return the true time."""
        return self._clock.now()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return self._clock.seconds()

    async def look(self) -> View:
        """Return the view of the world now."""
        return await look(self.world)

    async def until(self, holds: Callable[[View], bool], awaited: str, *, within: float) -> View:
        """Wait until something can be seen and return all that is seen then.

        Args:
            holds: whether it can be seen.
            awaited: what it is, for the message.
            within: seconds.

        Raises:
            NeverSeen: it was not seen in time.
        """
        deadline = self._clock.seconds() + within
        while True:
            view = await self.look()
            if holds(view):
                self.tell("story", f"saw {awaited}")
                return view
            if self._clock.seconds() >= deadline:
                seen = f"pods {view.placement()}\nservers {sorted(view.servers)}\nobjects {view.phases()}"
                log = "\n".join(self.log[-_LOG_TOLD:])
                raise NeverSeen(f"seed {self.seed}: not seen within {within} s: {awaited}\n{seen}\n{log}")
            await asyncio.sleep(_LOOK_SECONDS)

    def _note_pod(self, event: WatchEvent) -> None:
        self.oracle.note_pod(event)
        name, node = event.object["metadata"]["name"], event.object["spec"].get("nodeName", "")
        news = "is gone" if event.type == "DELETED" else f"is on {node}" if node else "waits"
        if self._told.get(name) != news:
            self._told[name] = news
            self.tell(f"pod/{name}", news)

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


Story = Callable[[Simulation], Awaitable[None]]


def simulate(
    seed: int,
    story: Story,
    *,
    objects: Sequence[Object],
    most_servers: int = 100,
    losses: float = 0.0,
    longest_binding: timedelta = _AT_ONCE,
    has_worker: bool = True,
    make_world: Callable[..., World] = World,
) -> Simulation:
    """Let `story` happen to a world that holds `objects`, and return the simulation with its log.

    The same seed and story give the same log, in any process. Without `has_worker`, the story starts the first one.

    Raises:
        ExceptionGroup: the story, the driver or a controller failed; it holds the cause.
    """
    clock = VirtualClock()

    async def main() -> Simulation:
        async with asyncio.TaskGroup() as group:
            simulation = Simulation(
                seed,
                clock=clock,
                group=group,
                most_servers=most_servers,
                losses=losses,
                longest_binding=longest_binding,
                make_world=make_world,
            )
            await simulation.world.apply(*objects)
            tasks = simulation.begin()
            if has_worker:
                simulation.start()
            await story(simulation)
            await simulation.end()
            for task in tasks:
                task.cancel()
        return simulation

    return run(main, clock)
