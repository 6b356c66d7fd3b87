"""Clouds that lie: each a provider as Growth sees it, over the simulated one that tells the truth."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from activities.ports.cluster import Object
from activities.ports.errors import UnknownOutcome
from activities.ports.provider import Server, ServerOrder, ServerState


class Lying:
    """The `Provider` port, true in all that a subclass leaves.

    Args:
        provider: the real one.
    """

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self.lies = 0
        self.creates: list[str] = []
        self.deletes: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._provider, verb)

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        self.creates.append(order.name)
        return await self._provider.create(node_class, order)

    async def delete(self, name: str, class_name: str | None = None) -> None:
        self.deletes.append(name)
        await self._provider.delete(name, class_name)


class LostReplies(Lying):
    """Does what the first calls ask for and does not answer."""

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        server = await super().create(node_class, order)
        if self.creates.count(order.name) == 1:
            self.lies += 1
            raise UnknownOutcome("injected: no answer to the create call")
        return server

    async def delete(self, name: str, class_name: str | None = None) -> None:
        await super().delete(name, class_name)
        if self.deletes.count(name) == 1:
            self.lies += 1
            raise UnknownOutcome("injected: no answer to the delete call")


class EmptyPromises(Lying):
    """Says of the first server that it was created, and never makes it."""

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        if self.creates and order.name != self.creates[0]:
            return await super().create(node_class, order)
        self.creates.append(order.name)
        self.lies += 1
        return Server(
            name=order.name,
            provider_id=f"kwok://promised/{order.name}",
            state=ServerState.CREATING,
            server_type=order.server_type,
            location=order.location,
            labels=order.labels,
            created_at=datetime.now(UTC),
        )


class RateLimited(Lying):
    """Refuses all calls for a while after the first create call, as a 429 with the time of its reset."""

    def __init__(self, provider: Any, *, seconds: float) -> None:
        super().__init__(provider)
        self._seconds = seconds
        self._until: float | None = None

    def _meet(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._until is not None and now < self._until:
            self.lies += 1
            raise UnknownOutcome(f"injected: rate limit exceeded, it is reset in {self._until - now:.0f} s")

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        self.creates.append(order.name)
        if self._until is None:
            self._until = asyncio.get_running_loop().time() + self._seconds
        self._meet()
        return await self._provider.create(node_class, order)

    async def get(self, name: str, class_name: str | None = None) -> Server:
        self._meet()
        return await self._provider.get(name, class_name)


class SlowCreate(Lying):
    """Makes the server at once and answers seconds later."""

    def __init__(self, provider: Any, *, seconds: float) -> None:
        super().__init__(provider)
        self._seconds = seconds

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        server = await super().create(node_class, order)
        self.lies += 1
        await asyncio.sleep(self._seconds)
        return replace(server)


class StaleList(Lying):
    """Lists no server that is younger than a while."""

    def __init__(self, provider: Any, *, seconds: float) -> None:
        super().__init__(provider)
        self._seconds = seconds

    async def list(self, cluster: str) -> list[Server]:
        found = await self._provider.list(cluster)
        now = datetime.now(UTC)
        old = [one for one in found if (now - one.created_at).total_seconds() > self._seconds]
        self.lies += len(found) - len(old)
        return old


class EmptyList(Lying):
    """Lists nothing, by error."""

    async def list(self, cluster: str) -> list[Server]:
        self.lies += len(await self._provider.list(cluster))
        return []


class IdleDelete(Lying):
    """Takes delete calls, says yes and does nothing, until it is mended."""

    is_mended = False

    async def delete(self, name: str, class_name: str | None = None) -> None:
        if self.is_mended:
            await super().delete(name, class_name)
            return
        self.deletes.append(name)
        self.lies += 1
