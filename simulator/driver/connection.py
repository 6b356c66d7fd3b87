"""A client's way to the API server: calls take a while, answers may be lost, and a dying client is cut off.

Time passes before and after the effect of each call, in lengths that a seed decides. So calls of
several clients interleave in ever different orders, and a client that is cut dies before a call,
or after its effect and before its answer, as a killed process does. Its watches may stand still for
a while, so that what it knows from them is old.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any, Final, Literal, NoReturn, TypeVar

from activities.ports.cluster import PODS, Cluster, Object, ObjectList, PatchOp, Resource, WatchEvent
from activities.ports.errors import GrowthError, Rejected, Unreachable
from activities.ports.presence import Presence

_FASTEST_SECONDS: Final = 0.0005
_SLOWEST_SECONDS: Final = 0.01
"""One way. An API server in the same data centre answers within 1 to 20 ms."""

_TIMEOUT_SECONDS: Final = 4.0
"""As the real client's. Source: docs/design.md#fence."""
_LATEST_EFFECT_SECONDS: Final = 5.0
"""A call that its client has given up may still be on its way through a proxy or a queue."""

T = TypeVar("T")

PodEnds = Callable[[Literal["evict", "delete"], str, str], None]
"""Takes the verb by which a client lets a pod end, its namespace and its name."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a client's way to the API server fares."""

    losses: float = 0.0
    """Share of calls that get no answer. A third of them never take effect, a third do, and a third do later,
    perhaps when the client has given up long ago."""
    stalls: float = 0.0
    """Share of watch events before which the stream stands still."""
    longest_stall_seconds: float = 0.0
    dies_after: int | None = None
    """The client is cut right after the effect of this one of its writes, counted from 1: nothing records it."""


class WorkerConnection:
    """The `Cluster` port of one client.

    Args:
        cluster: the API server.
        seed: decides how long each way takes, and which calls are lost.
        health: how it fares.
        died: called when the client is cut by its own `health`.
        pod_ends: called in the very moment in which an eviction or deletion of a pod takes effect, or is refused.
        is_away: whether the API server answers nobody.
        refuses_pod_writes: whether the API server refuses writes to pods now.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        seed: str,
        health: Health | None = None,
        died: Callable[[], None] = lambda: None,
        pod_ends: PodEnds = lambda _verb, _namespace, _name: None,
        is_away: Callable[[], bool] = lambda: False,
        refuses_pod_writes: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cluster = cluster
        self._refuses_pod_writes = refuses_pod_writes
        self._health = health or Health()
        self._died = died
        self._pod_ends = pod_ends
        self._is_away = is_away
        self._random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets
        self._is_cut = False
        self._writes = 0
        self._on_the_way: set[asyncio.Task[None]] = set()
        self.presence: Final = Presence(lambda: asyncio.get_running_loop().time())
        """Of this client and the API server."""

    @property
    def is_cut(self) -> bool:
        """Whether no call gets through any more."""
        return self._is_cut

    def cut(self) -> None:
        """Let no further call through: whatever the client still tries while it dies has no effect."""
        self._is_cut = True

    async def list(
        self, resource: Resource, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ObjectList:
        """Return all objects that both selectors accept: `Cluster.list`."""
        return await self._call(lambda: self._cluster.list(resource, namespace=namespace, labels=labels, fields=fields))

    async def watch(self, resource: Resource, *, resource_version: str, labels: str = "") -> AsyncIterator[WatchEvent]:
        """Yield changes after `resource_version`: `Cluster.watch`."""
        async for event in self._cluster.watch(resource, resource_version=resource_version, labels=labels):
            await self._way()
            if self._is_away():
                raise Unreachable("simulated: the API server is away")
            if self._health.stalls and self._random.random() < self._health.stalls:
                await asyncio.sleep(self._random.uniform(0, self._health.longest_stall_seconds))
            yield event

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> Object:
        """Return the object: `Cluster.get`."""
        return await self._call(lambda: self._cluster.get(resource, name, namespace=namespace))

    async def create(self, resource: Resource, body: Object, *, namespace: str | None = None) -> Object:
        """Create the object: `Cluster.create`."""
        return await self._call(
            self._write(resource, lambda: self._cluster.create(resource, body, namespace=namespace))
        )

    async def patch(
        self,
        resource: Resource,
        name: str,
        operations: Sequence[PatchOp],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Apply a JSON patch: `Cluster.patch`."""
        return await self._call(
            self._write(
                resource,
                lambda: self._cluster.patch(resource, name, operations, namespace=namespace, subresource=subresource),
            )
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace: timedelta | None = None,
    ) -> None:
        """Delete the object: `Cluster.delete`."""

        async def delete() -> None:
            if resource == PODS:
                self._pod_ends("delete", namespace or "", name)
            await self._cluster.delete(
                resource, name, namespace=namespace, uid=uid, resource_version=resource_version, grace=grace
            )

        await self._call(self._write(resource, delete))

    async def evict(self, name: str, *, namespace: str, uid: str, dry_run: bool = False) -> None:
        """Ask for the end of a pod: `Cluster.evict`."""

        async def evict() -> None:
            if not dry_run:
                self._pod_ends("evict", namespace, name)
            await self._cluster.evict(name, namespace=namespace, uid=uid, dry_run=dry_run)

        await self._call(evict if dry_run else self._write(PODS, evict))

    def _write(self, resource: Resource, call: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
        async def write() -> T:
            if resource == PODS and self._refuses_pod_writes():
                raise Rejected("simulated: a webhook for pods does not answer")
            answer = await call()
            self._writes += 1
            if self._writes == self._health.dies_after and not self._is_cut:
                self.cut()
                self._died()
            return answer

        return write

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            answer = await self._try(call)
        except Unreachable:
            self.presence.note(is_answered=False)
            raise
        self.presence.note(is_answered=True)
        return answer

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        luck = self._random.random() * 3
        await self._way()
        if self._is_away():
            await asyncio.sleep(_TIMEOUT_SECONDS)
            raise Unreachable("simulated: the API server is away")
        if luck < self._health.losses:
            raise Unreachable("simulated: the call was lost")
        if luck < 2 * self._health.losses:
            await self._call_late(call)
        try:
            answer = await call()
        finally:
            # A refusal takes its time too.
            await self._way()
        if luck < 3 * self._health.losses:
            raise Unreachable("simulated: the answer was lost")
        return answer

    async def _call_late(self, call: Callable[[], Awaitable[Any]]) -> NoReturn:
        """Wait as long as a client waits; the call takes effect in the meantime or a little after, also if it dies."""
        task = asyncio.create_task(_later(call, self._random.uniform(0, _LATEST_EFFECT_SECONDS)))
        self._on_the_way.add(task)
        task.add_done_callback(self._on_the_way.discard)
        await asyncio.sleep(_TIMEOUT_SECONDS)
        raise Unreachable(f"simulated: no answer within {_TIMEOUT_SECONDS:.0f} s")

    async def _way(self) -> None:
        if not self._is_cut:
            await asyncio.sleep(self._random.uniform(_FASTEST_SECONDS, _SLOWEST_SECONDS))
        if self._is_cut:
            raise asyncio.CancelledError("the client was cut off")


async def _later(call: Callable[[], Awaitable[Any]], seconds: float) -> None:
    await asyncio.sleep(seconds)
    # Nobody is there any more to hear of a refusal.
    with suppress(GrowthError):
        await call()
