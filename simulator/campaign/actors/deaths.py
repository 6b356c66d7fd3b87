"""Kubelets that die: their Nodes are not Ready, and pods on them never end; some come back, alone or all at once."""

import asyncio
from contextlib import suppress
from random import Random
from typing import Final

from activities.kube.json_patch import escape
from activities.ports.cluster import NODES, Object
from activities.ports.errors import GrowthError
from simulator.campaign.judging.recorder import Witness
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.kubelet import DEAD, MANAGED, kubelet_of
from simulator.simulation import Simulation

SHARE: Final = 0.4
"""Of histories."""
AFTER: Final = ("8s", "20s", "45s")
"""From the first moment on in which a Node is not Ready."""
_PAUSE_SECONDS: Final = (5.0, 40.0)
_OUTAGES: Final = 0.3
"""Share of deaths in which most Nodes are cut off, who all come back."""
_OUTAGE_SECONDS: Final = (15.0, 90.0)
_COME_BACK: Final = 0.3
"""Share of those that die alone."""
_BACK_SECONDS: Final = (3.0, 60.0)


class Deaths:
    """Lets kubelets die.

    Args:
        sim: the simulation.
        witness: knows what there is.
        random: of its own, so that all else happens as without deaths.
    """

    def __init__(self, sim: Simulation, *, witness: Witness, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._random = random
        self.is_calm = False
        """Whether nobody dies any more."""

    async def run(self) -> None:
        """Let one after the other die, until all is calm."""
        while not self.is_calm:
            await asyncio.sleep(self._random.uniform(*_PAUSE_SECONDS))
            if not self.is_calm:
                await self._strike()

    async def calm(self) -> None:
        """Let nobody die any more, and bring so many back that what failed is a Node and not the cluster."""
        self.is_calm = True
        for name in self.dead():
            nodes = self._cluster.peek(NODES)
            unready = sum(condition_status(node, "Ready") != "True" for node in nodes)
            if unready > 1 and 2 * unready >= len(nodes):
                await self._set_kubelet(name, "fake")

    async def revive(self) -> None:
        """Bring all back that are there."""
        for name in self.dead():
            await self._set_kubelet(name, "fake")

    def dead(self) -> list[str]:
        """Return the names of Nodes whose kubelet is dead."""
        return sorted(node["metadata"]["name"] for node in self._cluster.peek(NODES) if kubelet_of(node) == DEAD)

    async def _strike(self) -> None:
        living = sorted(node["metadata"]["name"] for node in self._cluster.peek(NODES) if _lives(node))
        if not living:
            return
        self._random.shuffle(living)
        if len(living) > 1 and self._random.random() < _OUTAGES:
            cut_off = living[: len(living) // 2 + 1]
            self._witness.counts["outages of most Nodes"] += 1
            for name in cut_off:
                await self._set_kubelet(name, DEAD)
            self._sim.spawn(self._back(cut_off, self._random.uniform(*_OUTAGE_SECONDS)))
            return
        # Those without pods go as empty ones.
        victim = next((name for name in living if self._witness.pods_on(name)), living[0])
        self._witness.counts["kubelets that died"] += 1
        await self._set_kubelet(victim, DEAD)
        if self._random.random() < _COME_BACK:
            self._sim.spawn(self._back([victim], self._random.uniform(*_BACK_SECONDS)))

    async def _back(self, names: list[str], seconds: float) -> None:
        await asyncio.sleep(seconds)
        for name in names:
            if name in self.dead():
                await self._set_kubelet(name, "fake")

    async def _set_kubelet(self, name: str, value: str) -> None:
        self._sim.tell("kubelet", f"of {name} {'dies' if value == DEAD else 'is back'}")
        path = f"/metadata/annotations/{escape(MANAGED)}"
        with suppress(GrowthError):
            await self._cluster.patch(NODES, name, [{"op": "add", "path": path, "value": value}])


def _lives(node: Object) -> bool:
    return kubelet_of(node) == "fake" and condition_status(node, "Ready") == "True"
