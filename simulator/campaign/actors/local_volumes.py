"""Volumes with data on one machine alone: bound while it is in use or as it goes, and given up a while later."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any, Final

from activities.ports.cluster import (
    NODE_REMOVAL_REQUESTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    Object,
    Resource,
)
from activities.ports.errors import AlreadyExists, NotFound
from api.keys import LABEL_HOSTNAME
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness
from simulator.simulation import Simulation

_OF_NODES: Final = 0.25
"""Share of Nodes that get a volume while they are in use."""
_OF_REMOVALS: Final = 0.3
"""Share of removals whose machine gets one as it goes."""
_BEGINS_WITHIN_SECONDS: Final = 40.0
_LASTS_SECONDS: Final = (20.0, 150.0)
_STEP_SECONDS: Final = 3.0
_NAMESPACE: Final = "default"


class LocalVolumeClaimants:
    """Binds claims to volumes of one machine, and deletes them.

    Args:
        sim: the simulation.
        witness: knows what there is.
        random: of its own, so that all else is drawn as without volumes.
    """

    def __init__(self, sim: Simulation, *, witness: Witness, random: Random) -> None:
        self._sim = sim
        self._cluster = sim.world.cluster
        self._witness = witness
        self._random = random
        self._made = 0
        self.is_calm = False
        """Nobody claims anything any more."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write: a new Node or removal may be of a machine that gets a volume."""
        if change.before is not None or change.kind == "DELETED" or self.is_calm:
            return
        share = {NODES: _OF_NODES, NODE_REMOVAL_REQUESTS: _OF_REMOVALS}.get(resource)
        if share is not None and self._random.random() < share:
            self._made += 1
            node = change.now["spec"]["serverName"] if resource == NODE_REMOVAL_REQUESTS else None
            name = change.now["metadata"]["name"] if node is None else node
            self._sim.spawn(self._live(f"local-{self._made}", name))

    async def _live(self, name: str, node: str) -> None:
        await asyncio.sleep(self._random.uniform(0, _BEGINS_WITHIN_SECONDS))
        if self.is_calm or not _is_in_use(self._witness.nodes.get(node)):
            return
        with suppress(AlreadyExists):
            await self._cluster.create(PERSISTENT_VOLUME_CLAIMS, _claim(name), namespace=_NAMESPACE)
            await self._cluster.create(PERSISTENT_VOLUMES, _volume(name, node))
        self._witness.counts["local volumes"] += 1
        until = self._sim.seconds() + self._random.uniform(*_LASTS_SECONDS)
        while self._sim.seconds() < until and not self.is_calm:  # noqa: ASYNC110 - calm comes without a message
            await asyncio.sleep(_STEP_SECONDS)
        with suppress(NotFound):
            await self._cluster.delete(PERSISTENT_VOLUME_CLAIMS, name, namespace=_NAMESPACE)
        with suppress(NotFound):
            await self._cluster.delete(PERSISTENT_VOLUMES, name)


def _is_in_use(node: Object | None) -> bool:
    conditions: list[Mapping[str, Any]] = [] if node is None else node.get("status", {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _claim(name: str) -> Object:
    spec = {"volumeName": name, "accessModes": ["ReadWriteOnce"], "storageClassName": "local-path"}
    meta = {"name": name, "namespace": _NAMESPACE, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Bound"}}


def _volume(name: str, node: str) -> Object:
    expression = {"key": LABEL_HOSTNAME, "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local-path",
        "persistentVolumeReclaimPolicy": "Delete",
        "claimRef": {"namespace": _NAMESPACE, "name": name},
        "hostPath": {"path": f"/var/lib/storage/{name}"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
    }
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}}
