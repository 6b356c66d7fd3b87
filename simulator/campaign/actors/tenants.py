"""Tenants beside the users of a cluster, whose pods are of a kind that makes trouble for others.

What they have and do is drawn from a stream of its own, so that histories without them stay as they were.
"""

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Final

from simulator.campaign.setup import Setup
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation

_TOLERANT: Final = 0.4
"""Share of histories without drains."""
_MOST_REPLICAS: Final = 4
_REST_SECONDS: Final = (1.0, 25.0)


@dataclass(frozen=True, slots=True)
class Tenancy:
    """What the tenants of one history have."""

    workloads: tuple[Workload, ...] = ()
    """Users know nothing of them."""


def draw_tenants(random: Random, setup: Setup) -> Tenancy:
    """Return the tenants of a history: mostly none."""
    workloads: list[Workload] = []
    # No taint empties a machine of pods that tolerate all: the next ones come back to it while it is drained.
    if random.random() < _TOLERANT and not setup.has_drains:
        requests = {"cpu": random.choice(["300m", "700m", "1200m"]), "memory": "512Mi"}
        workloads.append(Workload("agents", 0, requests, spec={"tolerations": [{"operator": "Exists"}]}))
    return Tenancy(tuple(workloads))


class Tenants:
    """What tenants do, whatever else happens.

    Args:
        sim: the simulation.
        tenancy: what they have.
        random: decides when they want how much.
    """

    def __init__(self, sim: Simulation, tenancy: Tenancy, random: Random) -> None:
        self._sim = sim
        self._tenancy = tenancy
        self._random = random
        self.is_calm = False
        """Whether they want nothing else any more."""

    def begin(self) -> None:
        """Let them act beside the history, until all is calm."""
        for workload in self._tenancy.workloads:
            self._sim.world.workloads.add(workload)
        if self._tenancy.workloads:
            self._sim.spawn(self._act())

    async def _act(self) -> None:
        while not self.is_calm:
            workload = self._random.choice(self._tenancy.workloads)
            replicas = self._random.randint(0, _MOST_REPLICAS)
            self._sim.tell("tenant", f"wants {replicas} of {workload.name}")
            self._sim.scale(workload.name, replicas)
            await asyncio.sleep(self._random.uniform(*_REST_SECONDS))
