"""A type that Hetzner refuses with a code of its own that nobody knows: certain to have made nothing."""

import asyncio
from collections import Counter
from random import Random
from typing import Final

from simulator.campaign.hetzner.provider_side import HetznerSide
from simulator.campaign.hetzner.setup import TYPES
from simulator.hetzner.cloud import Recorded
from simulator.hetzner.faults import Fault
from simulator.simulation import Simulation

_SHARE: Final = 0.3
"""Of histories."""
_CODE: Final = "made_up_refusal"
_MOST_CALLS: Final = 6
"""For one server: the three of which a few tries are made, and as many by a worker that takes over."""


class CertainRefusals:
    """Lets one type be refused for a while.

    Args:
        sim: the simulation.
        side: where it is.
        random: decides which, when, and for how long.
    """

    def __init__(self, sim: Simulation, side: HetznerSide, random: Random) -> None:
        self._sim = sim
        self._side = side
        self._random = random
        self._fault: Fault | None = None
        self._met = 0
        self._calls: Counter[str] = Counter()
        """Refused ones, by name of the server."""
        self._counted = side.cloud.after_call
        side.cloud.after_call = self._note

    def begin(self) -> None:
        """Let it happen in a share of histories."""
        if self._random.random() < _SHARE:
            self._sim.spawn(self._happen())

    def end(self) -> None:
        """Let it be over."""
        fault, self._fault = self._fault, None
        if fault is not None and fault in self._side.cloud.faults:
            self._side.cloud.faults.remove(fault)

    def _note(self, call: Recorded) -> None:
        """Judge one call of a worker: after a few refusals something else is bought."""
        self._counted(call)
        if self._fault is None or self._fault.met == self._met:
            return
        self._met = self._fault.met
        self._side.met["create: refused for certain"] += 1
        self._calls[call.name] += 1
        if self._side.is_reliable and self._calls[call.name] == _MOST_CALLS + 1:
            self._side.add_violation(f"server {call.name} was asked for {_MOST_CALLS + 1} times, refused each time")

    async def _happen(self) -> None:
        await asyncio.sleep(self._random.choice([0.0, self._random.uniform(0, 60)]))
        server_type = self._random.choice(TYPES)
        self._sim.tell("cloud", f"refuses {server_type} with a code of its own")
        fault = Fault("create_server", "error", times=None, status=422, code=_CODE, server_type=server_type)
        self._fault = self._side.cloud.faults.append(fault)
        await asyncio.sleep(self._random.uniform(60, 300))
        self.end()
