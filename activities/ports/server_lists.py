"""The servers of each provider, listed once for all machines at rest that are looked at within a while.

A call for each of fifty machines a minute would be most of what an idle worker asks for. A list may be behind, so it
proves only that nothing has to be done: whoever does not find a server in it asks for that very server.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from activities.ports.errors import GrowthError, NotFound
from activities.ports.provider import Provider, Server

SHARED_FOR: Final = timedelta(seconds=30)
"""Half of the time between two looks at a machine at rest."""


@dataclass(frozen=True, slots=True)
class _Answer:
    at: datetime
    servers: Mapping[str, Server]
    failure: GrowthError | None = None


class ServerLists:
    """The last list of each provider. Each worker has its own."""

    def __init__(self) -> None:
        self._answers: dict[str, _Answer] = {}
        self._one_at_a_time = asyncio.Lock()

    async def get(self, provider: Provider, cluster: str, name: str, *, now: datetime) -> Server:
        """Return the server of that name as it was listed `SHARED_FOR` ago at most.

        Args:
            provider: that lists it.
            cluster: whose servers are listed.
            name: of the server.
            now: the time, UTC.

        Raises:
            NotFound: no server of that name was listed; there may be one.
            GrowthError: the servers could not be listed, now or a moment ago.
        """
        kind = provider.node_classes.kind
        async with self._one_at_a_time:
            answer = self._answers.get(kind)
            # A clock that was set back makes a list of its future.
            if answer is None or not timedelta() <= now - answer.at < SHARED_FOR:
                answer = self._answers[kind] = await _listed(provider, cluster, now)
        if answer.failure is not None:
            raise answer.failure
        server = answer.servers.get(name)
        if server is None:
            raise NotFound(f"server {name} is not listed")
        return server


async def _listed(provider: Provider, cluster: str, now: datetime) -> _Answer:
    try:
        return _Answer(now, {server.name: server for server in await provider.list(cluster)})
    except GrowthError as failure:
        # Kept as well: each of many machines would ask a provider that does not answer.
        return _Answer(now, {}, failure)
