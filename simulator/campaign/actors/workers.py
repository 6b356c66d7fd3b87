"""The workers of a history: they die, are started again with or without Temporal's memory, and may be two at once."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Final

from simulator.campaign.setup import Setup
from simulator.driver.incarnation import Incarnation
from simulator.simulation import Simulation

_LONGEST_ABSENCE_SECONDS: Final = 15.0
_MOST_WRITES: Final = 60
_LONGEST_LEAP_SECONDS: Final = 18.0
"""Of a clock forward, all in all. Absence is believed after 60 s by a worker's clock; a late create may take 40 s.

A longer leap makes a server come when its absence has been believed: seed 358 once showed how the sweep ends it."""

_FAR_AHEAD: Final = timedelta(hours=1)
"""As with the wrong zone of time."""
_AHEAD_FOR_SECONDS: Final = (1.0, 120.0)


class Workers:
    """Whoever starts workers and lets them die.

    Args:
        sim: the simulation.
        scenario: how their way to the API server fares.
        random: decides when they die.
    """

    def __init__(self, sim: Simulation, *, scenario: Setup, random: Random) -> None:
        self._sim = sim
        self._scenario = scenario
        self._random = random
        self._is_calm = False

    def start(self, *, memory_of: Incarnation | None = None, dies_after: int | None = None) -> None:
        """Start a worker, which is started again whenever it dies by itself."""
        memory = None if memory_of is None else memory_of.driver.memory
        incarnation = self._sim.start(self._scenario.health(dies_after), memory=memory)
        self._sim.spawn(self._watch_over(incarnation))

    async def crash(self) -> None:
        """Kill a worker; with Temporal's database lost, the next one knows only the objects."""
        victim = self._victim()
        if victim is None:
            return
        is_lost = self._random.random() < 0.5  # noqa: PLR2004 - one of two ways
        self._sim.tell("temporal", "is lost" if is_lost else "remembers")
        await self._sim.crash(victim)
        await asyncio.sleep(self._random.uniform(0, _LONGEST_ABSENCE_SECONDS))
        self.start(memory_of=None if is_lost else victim)

    async def doom(self) -> None:
        """Put a worker in a worker's place that dies right after one of its writes took effect."""
        victim = self._victim()
        if victim is not None:
            await self._sim.crash(victim)
            self.start(memory_of=victim, dies_after=self._random.randint(1, _MOST_WRITES))

    async def double(self) -> None:
        """Start a second worker beside the first one, which does not know of it."""
        if len(self._sim.alive) == 1:
            self.start()

    async def single(self) -> None:
        """Let the second worker die for good."""
        if len(self._sim.alive) > 1:
            await self._sim.crash(self._victim())

    async def leap(self) -> None:
        """Let the clock of a worker jump: forward, or a little back."""
        victim = self._victim()
        if victim is not None:
            seconds = self._random.choice([self._random.uniform(1, _LONGEST_LEAP_SECONDS), -self._random.uniform(0, 2)])
            self._sim.tell("clock", f"of incarnation {victim.number} jumps by {seconds:.1f} s")
            victim.ahead = min(victim.ahead + timedelta(seconds=seconds), timedelta(seconds=_LONGEST_LEAP_SECONDS))

    async def run_ahead(self, random: Random) -> None:
        """Let the clock of a worker be an hour ahead for a while, and then right."""
        victim = random.choice(self._sim.alive) if self._sim.alive else None
        if victim is None:
            return
        self._sim.tell("clock", f"of incarnation {victim.number} is an hour ahead")
        victim.ahead = _FAR_AHEAD
        await asyncio.sleep(random.uniform(*_AHEAD_FOR_SECONDS))
        self._sim.tell("clock", f"of incarnation {victim.number} is right")
        victim.ahead = timedelta()

    def calm(self) -> None:
        """Let no worker die any more."""
        self._is_calm = True

    def _victim(self) -> Incarnation | None:
        return self._random.choice(self._sim.alive) if self._sim.alive else None

    async def _watch_over(self, incarnation: Incarnation) -> None:
        await incarnation.has_died.wait()
        self._sim.tell("worker", f"incarnation {incarnation.number} dies after a write")
        await self._sim.crash(incarnation)
        if not self._is_calm:
            await asyncio.sleep(self._random.uniform(0, _LONGEST_ABSENCE_SECONDS))
        self.start(memory_of=incarnation)
