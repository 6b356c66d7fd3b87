"""The boots of simulated servers: after its boot time a server's Node joins, once.

A Node is made before that is written on the server's record. Killed in between, the next pass finds
the Node and writes it down; after that, a Node that a person deletes is not made again. A server
that was deleted while its Node was being made takes the Node along.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODES, Cluster, Object
from activities.ports.errors import AlreadyExists, Conflict, GrowthError, NotFound
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.faults import holds
from activities.providers.kwok.record import KwokRecord, KwokRecords
from api.model import UnreadableError, read
from api.v1alpha1.kwok_node_class import KwokFault, KwokNodeClass

_AGAIN_AFTER: Final = timedelta(seconds=1)
"""When a Node could not be made."""
_FAKE: Final = {"kwok.x-k8s.io/node": "fake"}
"""The annotation by which KWOK knows the Nodes that it plays."""

log = logging.getLogger(__name__)


class KwokBoot:
    """Makes the Nodes of servers that have booted.

    Args:
        cluster: where the Nodes live.
        records: the servers.
        now: the time, UTC.
    """

    def __init__(self, cluster: Cluster, records: KwokRecords, now: Callable[[], datetime]) -> None:
        self._cluster = cluster
        self._records = records
        self._now = now

    async def boot(self) -> datetime | None:
        """Make one pass over the servers, and return when the next boot ends; None when none is under way.

        A server whose Node cannot be made is tried again soon and holds up no other.

        Raises:
            Unreachable: the API server does not answer.
        """
        now = self._now()
        faults = _Faults(self._cluster)
        due: list[datetime] = []
        for record in await self._records.list():
            if record.is_joined:
                continue
            if now < record.runs_at:
                due.append(record.runs_at)
                continue
            try:
                if not await faults.hold(record, "boot", "join"):
                    await self._join(record, is_played=not await faults.hold(record, "ready"))
            except GrowthError as error:
                log.warning("server %s does not join yet: %s", record.name, error)
                due.append(now + _AGAIN_AFTER)
        return min(due, default=None)

    async def _join(self, record: KwokRecord, *, is_played: bool) -> None:
        made: Object | None = None
        try:
            made = await self._cluster.create(NODES, _node(record, is_played=is_played))
        except AlreadyExists:
            log.info("Node %s exists already", record.name)
        try:
            await self._mark(record)
        except NotFound:
            if made is None:
                return
            metadata = made["metadata"]
            await self._cluster.delete(NODES, metadata["name"], uid=metadata["uid"])

    async def _mark(self, record: KwokRecord) -> None:
        try:
            await self._records.mark_joined(record)
        except Conflict:
            # A label was put on it meanwhile, or another replica has joined it.
            fresh = await self._records.get(record.name)
            if not fresh.is_joined and fresh.object["metadata"]["uid"] == record.object["metadata"]["uid"]:
                await self._records.mark_joined(fresh)


def _node(record: KwokRecord, *, is_played: bool) -> Object:
    """Return the Node of the server; KWOK makes it Ready if it is to play it."""
    template = record.node
    annotations = dict(_FAKE) if is_played else {}
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": record.name, "labels": template["labels"], "annotations": annotations},
        "spec": {"providerID": record.provider_id, "taints": template["taints"]},
        "status": {"capacity": template["capacity"], "allocatable": template["allocatable"]},
    }


class _Faults:
    """The faults of the classes that a booting server may meet, each class read once per pass."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[str, tuple[KwokFault, ...]] = {}

    async def hold(self, record: KwokRecord, *calls: str) -> bool:
        """Return whether one of these fails for the server."""
        faults = self._known.get(record.class_name)
        if faults is None:
            faults = self._known[record.class_name] = await self._of(record.class_name)
        return any(
            holds(fault, call, server_type=record.server_type, location=record.location)
            for fault in faults
            for call in calls
        )

    async def _of(self, class_name: str) -> tuple[KwokFault, ...]:
        try:
            return read(KwokNodeClass, await self._cluster.get(KWOK_NODE_CLASSES, class_name)).spec.faults
        except (NotFound, UnreadableError):
            return ()
