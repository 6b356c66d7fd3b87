"""Volumes that are attached to machines as these are told to go, and detach a while later, or never."""

import asyncio
from contextlib import suppress
from random import Random
from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, VOLUME_ATTACHMENTS, Resource
from activities.ports.errors import AlreadyExists, NotFound
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness
from simulator.simulation import Simulation

_SHARE: Final = 0.25
"""Of removals."""
_STUCK: Final = 0.15
"""Share of volumes that detach only with the end of their Node."""
_DETACHES_AFTER_SECONDS: Final = (1.0, 90.0)


class AttachDetachController:
    """Attaches volumes to machines that shall go, and detaches them.

    Args:
        sim: the simulation.
        witness: knows what there is.
        random: of its own, so that all else happens as without volumes.
    """

    def __init__(self, sim: Simulation, *, witness: Witness, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._random = random
        self._made = 0

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write: a new removal may be of a machine with a volume; with a Node, its attachments go."""
        if resource == NODES and change.kind == "DELETED":
            for attachment in self._cluster.peek(VOLUME_ATTACHMENTS):
                if attachment["spec"]["nodeName"] == change.now["metadata"]["name"]:
                    self._sim.spawn(self._detach(attachment["metadata"]["name"], 0.0))
        elif resource == NODE_REMOVAL_REQUESTS and change.before is None and self._random.random() < _SHARE:
            self._made += 1
            self._sim.spawn(self._attach(f"volume-{self._made}", change.now["spec"]["serverName"]))

    async def _attach(self, name: str, node: str) -> None:
        if node not in self._witness.nodes:
            return
        spec = {"attacher": "csi.example", "nodeName": node, "source": {"persistentVolumeName": name}}
        with suppress(AlreadyExists):
            await self._cluster.create(VOLUME_ATTACHMENTS, {"metadata": {"name": name}, "spec": spec})
        self._witness.counts["volumes attached to machines that go"] += 1
        if self._random.random() >= _STUCK:
            await self._detach(name, self._random.uniform(*_DETACHES_AFTER_SECONDS))

    async def _detach(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with suppress(NotFound):
            await self._cluster.delete(VOLUME_ATTACHMENTS, name)
