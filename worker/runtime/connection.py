"""The client that a worker's parts share, which is replaced while they work."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from temporalio.client import Client
from temporalio.worker import Worker


class ClientUser(Protocol):
    """Uses the client of Temporal that it has at that moment, as the SDK's own worker does."""

    client: Client


class TemporalConnection:
    """Gives each part the latest client.

    Args:
        client: the first one.
        make: returns a worker on a client, which has not run yet.
        parts: those beside the worker.
    """

    def __init__(self, client: Client, make: Callable[[Client], Worker], parts: Iterable[ClientUser]) -> None:
        self._client = client
        self._make = make
        self._parts = tuple(parts)
        self._worker: Worker | None = None

    def worker(self) -> Worker:
        """Return a worker that has not run yet; it is the one that gets later clients."""
        self._worker = self._make(self._client)
        return self._worker

    async def follow(self, renewed: Callable[[], Awaitable[Client]]) -> None:
        """Replace the client whenever `renewed` returns another one, for ever."""
        while True:
            self._client = await renewed()
            for part in self._parts:
                part.client = self._client
            if self._worker is not None:
                self._worker.client = self._client
