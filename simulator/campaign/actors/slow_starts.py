"""Machines, schedulers and API servers that take their time: a share of histories has all of them."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any, Final

from activities.ports.cluster import Object
from simulator.campaign.judging.recorder import Witness
from simulator.campaign.setup import Setup
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation

DEVICE: Final = "example.com/device"
"""A resource that a plug-in reports late."""
_SHARE: Final = 0.35
"""Of histories."""
_JOIN_TIMEOUT: Final = "240s"
_TAINTS: Final = (
    {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoSchedule"},
    {"key": "example.com/warming", "effect": "NoSchedule"},
)
_SECONDS: Final = (65, 150)
"""Longer than the minute of a reservation."""


def with_slow_starts(setup: Setup, random: Random) -> Setup:
    """Return the setup, in a share of histories with machines that start slowly, and pods that ask for a device."""
    if random.random() >= _SHARE:
        return setup
    starts = [
        {"taints": list(_TAINTS), "taintsFor": _some(random)},
        {"readyAfter": _some(random)},
        {"devicesAfter": _some(random)},
    ]
    random.shuffle(starts)
    pools: dict[str, Object] = {}

    def slowed(item: Object) -> Object:
        spec = item["spec"]
        if item["kind"] == "KwokNodeClass":
            types = [
                {**each, "startup": start, "capacity": {**each["capacity"], DEVICE: "2"}}
                for each, start in zip(spec["serverTypes"], starts, strict=True)
            ]
            return {**item, "spec": {**spec, "serverTypes": types}}
        scale_up = {
            **spec["scaleUp"],
            "joinTimeout": _JOIN_TIMEOUT,
            "startupTaints": [{"key": "example.com/warming"}],
        }
        pools[item["metadata"]["name"]] = made = {**item, "spec": {**spec, "scaleUp": scale_up}}
        return made

    objects = [slowed(item) for item in setup.objects]
    requests = {"cpu": "300m", "memory": "500Mi", DEVICE: "1"}
    workloads = [*setup.workloads, Workload("devices", random.randint(1, 3), requests)]
    return replace(setup, objects=objects, pools=pools, workloads=workloads, has_slow_starts=True)


def _some(random: Random) -> str:
    return f"{random.randint(*_SECONDS)}s"


class Standstills:
    """Stops the scheduler, or the API server, for a while.

    Args:
        sim: the simulation.
        witness: counts.
        random: of its own, so that all else happens as without them.
    """

    def __init__(self, sim: Simulation, *, witness: Witness, random: Random) -> None:
        self._sim = sim
        self._witness = witness
        self._random = random
        self._is_calm = False

    async def run(self) -> None:
        """Let one of both stand still now and then, until it is calm."""
        while not self._is_calm:
            await asyncio.sleep(self._random.uniform(5, 40))
            if self._is_calm:
                return
            if self._random.random() < 0.5:  # noqa: PLR2004 - a share
                await self._stand_still("scheduler", self._sim.world.stop_scheduler, self._random.uniform(65, 110))
            else:
                await self._stand_still("API server", self._sim.world.stop_api_server, self._random.uniform(35, 70))

    async def _stand_still(self, name: str, stop: Any, seconds: float) -> None:
        self._sim.tell(name, f"stands still for {seconds:.0f} s")
        self._witness.counts[f"{name} stands still"] += 1
        stop(is_stopped=True)
        await asyncio.sleep(seconds)
        stop(is_stopped=False)
        self._sim.tell(name, "goes on")

    def calm(self) -> None:
        """Let both work from now on."""
        self._is_calm = True
        self._sim.world.stop_scheduler(is_stopped=False)
        self._sim.world.stop_api_server(is_stopped=False)
