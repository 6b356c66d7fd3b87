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
from activities.providers.kwok.startup import FAKE, NOT_READY, UNPLAYED, changes, next_change, node_at
from api.model import UnreadableError, read
from api.v1alpha1.kwok_node_class import KwokFault, KwokNodeClass

_AGAIN_AFTER: Final = timedelta(seconds=1)
"""When a Node could not be made."""

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
        self.holds_any = False
        """Whether the last pass saw a server that a fault of its class holds: nobody tells when that is taken off."""

    async def boot(self) -> datetime | None:
        """Make one pass over the servers, and return when the next boot ends; None when none is under way.

        A server whose Node cannot be made is tried again soon and holds up no other.

        Raises:
            Unreachable: the API server does not answer.
        """
        now = self._now()
        faults = _Faults(self._cluster)
        due: list[datetime] = []
        self.holds_any = False
        for record in await self._records.list():
            if record.is_joined and not record.startup:
                continue
            if now < record.runs_at:
                due.append(record.runs_at)
                continue
            try:
                if not record.is_joined and await faults.hold(record, "boot", "join"):
                    self.holds_any = True
                else:
                    is_played = not await faults.hold(record, "ready")
                    if record.is_joined:
                        await self._go_on(record, is_played=is_played)
                    else:
                        await self._join(record, is_played=is_played)
                    later = next_change(record.startup, record.runs_at, now)
                    due += [] if later is None else [later]
            except GrowthError as error:
                log.warning("server %s does not join yet: %s", record.name, error)
                due.append(now + _AGAIN_AFTER)
        return min(due, default=None)

    async def _join(self, record: KwokRecord, *, is_played: bool) -> None:
        made: Object | None = None
        try:
            age = self._now() - record.runs_at
            made = await self._cluster.create(NODES, _node(record, age, is_played=is_played))
        except AlreadyExists:
            log.info("Node %s exists already", record.name)
        try:
            await self._mark(record)
        except NotFound:
            if made is None:
                return
            metadata = made["metadata"]
            await self._cluster.delete(NODES, metadata["name"], uid=metadata["uid"])

    async def _go_on(self, record: KwokRecord, *, is_played: bool) -> None:
        """Let a Node that starts slowly have what it has by now."""
        now = self._now()
        try:
            node = await self._cluster.get(NODES, record.name)
            wanted = node_at(record.node, record.startup, now - record.runs_at, is_played=is_played)
            of_node, of_status = changes(node, record.startup, wanted)
            if of_status:
                await self._cluster.patch(NODES, record.name, of_status, subresource="status")
            if of_node:
                # After its devices are there: whoever waits for the taints to go shall find them.
                await self._cluster.patch(NODES, record.name, of_node)
        except NotFound:
            log.info("Node %s is gone", record.name)
        if next_change(record.startup, record.runs_at, now) is None:
            await self._records.mark_started(record)

    async def _mark(self, record: KwokRecord) -> None:
        try:
            await self._records.mark_joined(record)
        except Conflict:
            # A label was put on it meanwhile, or another replica has joined it.
            fresh = await self._records.get(record.name)
            if not fresh.is_joined and fresh.object["metadata"]["uid"] == record.object["metadata"]["uid"]:
                await self._records.mark_joined(fresh)


def _node(record: KwokRecord, age: timedelta, *, is_played: bool) -> Object:
    """Return the Node of the server; KWOK makes it Ready if it is to play it."""
    made = node_at(record.node, record.startup, age, is_played=is_played)
    # As kubelets register: without it, the node lifecycle controller takes the not-ready taint off at once.
    conditions = {} if made["annotations"] == FAKE else {"conditions": [NOT_READY]}
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {
            "name": record.name,
            "labels": record.node["labels"],
            "annotations": made["annotations"] or UNPLAYED,
        },
        "spec": {"providerID": record.provider_id, "taints": made["taints"]},
        "status": {"capacity": made["capacity"], "allocatable": made["allocatable"], **conditions},
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
