"""The provider of simulated machines: a KwokNodeClass is its price list, ConfigMaps are its servers.

What it does is what a cloud does, slow boots, shortages and scripted failures included; only that
its machines become Nodes without kubelets, which KWOK or the simulator plays. Boot and join faults
hold as long as the class lists them; their `times` count calls and so have no meaning for them.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Final

from activities.objects.node_classes import as_provider_errors, class_of
from activities.ports.cluster import Cluster, Object, Resource
from activities.ports.errors import (
    AlreadyExists,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
)
from activities.ports.provider import Server, ServerOrder, ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.boot import KwokBoot
from activities.providers.kwok.catalogue import allocatable, capacity, node_labels, offerings
from activities.providers.kwok.faults import KwokFaults, error_of, holds
from activities.providers.kwok.record import KwokRecord, KwokRecords
from activities.providers.kwok.startup import startup_of
from api.keys import LABEL_HOSTNAME
from api.model import UnreadableError, read
from api.quantity import format_amount
from api.v1alpha1.kwok_node_class import KwokLocation, KwokNodeClass, KwokServerType
from planner.objects.offering import Offering, ResourceVector

_LONGEST_REST_SECONDS: Final = 2.0
"""Between two passes over booting servers: boots take seconds."""
_REST_TO_WORK: Final = 4.0
"""A rest is so many times as long as the pass before it."""
_PASS_EVERY_SECONDS: Final = 20.0
"""Between two passes while no boot is known to be due: servers of a worker that died wait for so long."""


class KwokProvider:
    """A `Provider` whose servers are ConfigMaps.

    Args:
        cluster: where classes, records and Nodes live.
        namespace: of the records; made when it does not exist.
        now: the time, UTC.
        elapsed: seconds since some moment, by a clock that nobody sets.
    """

    node_classes: ClassVar[Resource] = KWOK_NODE_CLASSES

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        now: Callable[[], datetime],
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._now = now
        self._elapsed = elapsed
        self._records = KwokRecords(cluster, namespace)
        self._faults = KwokFaults(cluster, namespace)
        self._boot = KwokBoot(cluster, self._records, now)
        self._stock = asyncio.Lock()
        self._boot_due_at: datetime | None = None
        """When the next boot ends that this worker knows of."""
        self._pass_due = float("-inf")
        """From when on, by `elapsed`, a pass is due whatever is known."""

    def offerings(self, node_class: Object) -> tuple[Offering, ...]:
        """Return every offering of the class: `Provider.offerings`."""
        return offerings(class_of(KwokNodeClass, node_class))

    def image(self, node_class: Object, offering: Offering) -> str | None:  # noqa: ARG002 - the class states all
        """Return None: `Provider.image`."""
        return None

    def refusal(self, server_type: str) -> str | None:  # noqa: ARG002 - a class may give any name to a type
        """Return None: `Provider.refusal`."""
        return None

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        """Create the server, or return the one of that name: `Provider.create`."""
        parsed = class_of(KwokNodeClass, node_class)
        server_type, location = _choice(parsed, order)
        with as_provider_errors(f"creation of server {order.name}"):
            existing = await self._find(order.name)
            if existing is not None:
                self._note_boot(existing.runs_at)
                return await self._server(existing)
            fault = await self._faults.meet(
                parsed, "create", server_type=order.server_type, location=order.location, name=order.name
            )
        call = f"creation of a {order.server_type} in {order.location}"
        if fault is not None and not fault.lost_reply:
            raise error_of(fault, call)
        if not location.available:
            raise InsufficientCapacity(f"{call}: sold out")
        with as_provider_errors(f"creation of server {order.name}"):
            record = await self._add(parsed, server_type, location, order)
        self._note_boot(record.runs_at)
        if fault is not None:
            raise error_of(fault, call)
        return await self._server(record)

    async def get(self, name: str, class_name: str | None = None) -> Server:  # noqa: ARG002 - one account holds all
        """Return the server of that name: `Provider.get`."""
        with as_provider_errors(f"look at server {name}"):
            return await self._server(await self._records.get(name))

    async def list(self, cluster: str) -> list[Server]:
        """Return the servers of this cluster: `Provider.list`."""
        with as_provider_errors("list of servers"):
            return [await self._server(record) for record in await self._records.list(cluster)]

    async def delete(self, name: str, class_name: str | None = None) -> None:  # noqa: ARG002 - as get
        """Delete the server at once: `Provider.delete`. Its Node stays, as a real one's does."""
        call = f"deletion of server {name}"
        with as_provider_errors(call):
            record = await self._find(name)
            if record is None:
                return
            node_class = await self._class_of(record)
            fault = None
            if node_class is not None:
                fault = await self._faults.meet(
                    node_class, "delete", server_type=record.server_type, location=record.location, name=name
                )
        if fault is not None and not fault.lost_reply:
            raise error_of(fault, call)
        with as_provider_errors(call):
            await self._records.remove(record)
            await self._faults.forget(name)
        if fault is not None:
            raise error_of(fault, call)

    async def label(self, name: str, labels: dict[str, str], class_name: str | None = None) -> None:  # noqa: ARG002 - as get
        """Add labels to a server: `Provider.label`."""
        with as_provider_errors(f"labels of server {name}"):
            await self._records.label(await self._records.get(name), labels)

    async def boot(self) -> datetime | None:
        """Let the Nodes of servers that have booted join, and return when the next one is due.

        None when no server is booting. The simulator's clock goes by it.
        """
        return await self._boot.boot()

    async def tend(self) -> float:
        """Let servers boot: `Provider.tend`."""
        began = self._elapsed()
        is_due = self._boot_due_at is not None and self._now() >= self._boot_due_at
        if not is_due and began < self._pass_due:
            return 0
        # A server that is made during the pass notes its own boot; a pass that fails is due again.
        self._boot_due_at, self._pass_due = None, began
        next_boot_at = await self.boot()
        if next_boot_at is not None:
            self._note_boot(next_boot_at)
        now = self._elapsed()
        self._pass_due = now + (0 if self._boot.holds_any else _PASS_EVERY_SECONDS)
        # A pass reads all servers: with hundreds of them it must not be what the worker does most.
        return min(_LONGEST_REST_SECONDS, _REST_TO_WORK * (now - began))

    async def close(self) -> None:
        """Do nothing: `Provider.close`. The connection is the cluster's."""

    def _note_boot(self, ends_at: datetime) -> None:
        """Note when a boot ends: by then a pass is due."""
        self._boot_due_at = ends_at if self._boot_due_at is None else min(ends_at, self._boot_due_at)

    async def _find(self, name: str) -> KwokRecord | None:
        try:
            return await self._records.get(name)
        except NotFound:
            return None

    async def _add(
        self, node_class: KwokNodeClass, server_type: KwokServerType, location: KwokLocation, order: ServerOrder
    ) -> KwokRecord:
        # Without the lock, two creates could both count the last machine in stock as theirs.
        async with self._stock:
            if location.stock is not None:
                taken = [r for r in await self._records.list() if _is_of(r, node_class, order)]
                if len(taken) >= location.stock:
                    rest = f", all {location.stock} exist" if location.stock else ""
                    raise InsufficientCapacity(f"creation of a {order.server_type} in {order.location}: sold out{rest}")
            now = self._now()
            try:
                return await self._records.add(
                    order.name,
                    server_type=order.server_type,
                    location=order.location,
                    class_name=node_class.metadata.name,
                    created_at=now,
                    runs_at=now + location.boot_time,
                    labels=order.labels,
                    node=_node(server_type, location, order),
                    startup=startup_of(server_type.startup),
                )
            except AlreadyExists:
                record = await self._find(order.name)
                if record is None:
                    raise InvalidConfiguration(
                        f"a ConfigMap named {order.name} exists and is no record of a server: delete it"
                    ) from None
                return record

    async def _server(self, record: KwokRecord) -> Server:
        state = ServerState.RUNNING
        if self._now() < record.runs_at:
            state = ServerState.CREATING
        elif not record.is_joined:
            node_class = await self._class_of(record)
            if node_class is not None and any(
                holds(fault, "boot", server_type=record.server_type, location=record.location)
                for fault in node_class.spec.faults
            ):
                state = ServerState.CREATING
        return record.server(state)

    async def _class_of(self, record: KwokRecord) -> KwokNodeClass | None:
        """Return the class as it is now: without it, or when it cannot be read, there are no faults."""
        try:
            return read(KwokNodeClass, await self._cluster.get(KWOK_NODE_CLASSES, record.class_name))
        except (NotFound, UnreadableError):
            return None


def _choice(node_class: KwokNodeClass, order: ServerOrder) -> tuple[KwokServerType, KwokLocation]:
    for server_type in node_class.spec.server_types:
        for location in server_type.locations:
            if (server_type.name, location.name) == (order.server_type, order.location):
                return server_type, location
    raise InvalidConfiguration(
        f"KwokNodeClass {node_class.metadata.name} has no server type {order.server_type} in location {order.location}"
    )


def _is_of(record: KwokRecord, node_class: KwokNodeClass, order: ServerOrder) -> bool:
    return (record.class_name, record.server_type, record.location) == (
        node_class.metadata.name,
        order.server_type,
        order.location,
    )


def _node(server_type: KwokServerType, location: KwokLocation, order: ServerOrder) -> dict[str, Any]:
    """Return labels, taints, capacity and allocatable of the server's Node."""
    return {
        "labels": {**node_labels(server_type, location), **order.node_labels, LABEL_HOSTNAME: order.name},
        "taints": list(order.node_taints),
        "capacity": _quantities(capacity(server_type)),
        "allocatable": _quantities(allocatable(server_type)),
    }


def _quantities(amounts: ResourceVector) -> dict[str, str]:
    return {name: format_amount(name, amount) for name, amount in sorted(amounts.items())}
