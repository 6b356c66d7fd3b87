"""A limit that stops a part of what a class offers, for a while: whatever else can be had must not wait for it.

Drawn from a stream of its own, so that the other histories do not change with it.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from random import Random
from typing import Final

from simulator.campaign.hetzner.provider_side import HetznerSide
from simulator.campaign.hetzner.setup import LOCATIONS, TYPES
from simulator.simulation import Simulation

_SHARE: Final = 0.4
"""Of histories."""


class NarrowLimit(StrEnum):
    """What is limited."""

    TYPE = "account: no more of one type"
    LOCATION = "a location takes no new servers"


class NarrowLimits:
    """Lets one of them come and go.

    Args:
        sim: the simulation.
        side: where it is.
        random: decides which, when, and for how long.
    """

    def __init__(self, sim: Simulation, side: HetznerSide, random: Random) -> None:
        self._sim = sim
        self._side = side
        self._random = random
        self._undo: Callable[[], None] | None = None

    def begin(self) -> None:
        """Let it happen in a share of histories."""
        if self._random.random() < _SHARE:
            self._sim.spawn(self._happen())

    def end(self) -> None:
        """Let it be over."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    async def _happen(self) -> None:
        await asyncio.sleep(self._random.choice([0.0, self._random.uniform(0, 60)]))
        limit = self._random.choice(list(NarrowLimit))
        self._side.met[limit] += 1
        self._undo = {NarrowLimit.TYPE: self._limit_type, NarrowLimit.LOCATION: self._close}[limit]()
        self._sim.tell("cloud", limit)
        await asyncio.sleep(self._random.uniform(60, 400))
        self.end()

    def _limit_type(self) -> Callable[[], None]:
        cloud, server_type = self._side.cloud, self._random.choice(TYPES)
        there = sum(each.server_type == server_type for each in cloud.servers_of())
        cloud.set_limit(server_type, there, told=self._random.choice(["message", "details", "both"]))
        self._side.narrowed.append((frozenset({server_type}), frozenset(LOCATIONS)))
        return lambda: cloud.set_limit(server_type, None)

    def _close(self) -> Callable[[], None]:
        cloud, location = self._side.cloud, self._random.choice(LOCATIONS)
        cloud.close_location(location)
        self._side.narrowed.append((frozenset(TYPES), frozenset({location})))
        return lambda: cloud.close_location(location, is_closed=False)
