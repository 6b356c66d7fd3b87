"""The servers of a project, by one list that all share: a look at each would cost the project's calls.

What this worker has done since the list was made is known better than by the list. That a server is
not listed proves nothing, as a list may be behind; only an answer about its very name does.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from activities.ports.errors import GrowthError
from activities.ports.identity import ClusterIdentity, Ownership
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ServerFacts
from api.keys import LABEL_CLUSTER

LISTED_FOR_SECONDS: Final = 25.0
"""How long a list is good: a state that is so old only delays, and 3,600 calls an hour are shared by all."""
USABLE_FOR_SECONDS: Final = 300.0
"""How long a server that was listed is believed to be there while the API gives no answer."""
FRESH_FOR_SECONDS: Final = 120.0
"""How long a server that was made here is believed to be there although the API does not show it yet."""
ABSENT_FOR_SECONDS: Final = 5.0
"""How long it is remembered that there is no server of a name: whoever ends a machine asks several times in a moment.
It must stay short: absence is believed a minute after a creation, and an older answer would be one from before that."""
_MOST_NOTES: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Note:
    """A server as the API showed it after the list was made."""

    server: ServerFacts
    at: float


class ServerList:
    """The servers of one cluster in one project.

    Args:
        client: of the project.
        identity: of the cluster whose servers are listed.
        elapsed: seconds since some moment.
    """

    def __init__(self, client: HetznerClient, identity: ClusterIdentity, elapsed: Callable[[], float]) -> None:
        self._client = client
        self._identity = identity
        self._elapsed = elapsed
        self._listed: dict[str, ServerFacts] = {}
        self._listed_at: float | None = None
        self._notes: dict[str, _Note] = {}
        self._made: dict[str, _Note] = {}
        """Of create calls that were answered."""
        self._absent: dict[str, float] = {}
        """When the API said of a name that there is no server."""
        self._one_flight = asyncio.Lock()

    @property
    def known(self) -> tuple[ServerFacts, ...]:
        """The servers that are certainly this cluster's, as last seen, without a call.

        Not those of another cluster of its name, nor those that bear only the name, as an earlier version made them.
        """
        return tuple(one for one in self._known() if self._identity.owner(one.labels) is Ownership.OURS)

    @property
    def is_listed(self) -> bool:
        """Whether they were ever listed."""
        return self._listed_at is not None

    async def all(self) -> list[ServerFacts]:
        """Return all servers that bear the cluster's name.

        Raises:
            ProviderError: the API does not tell them.
        """
        await self._refresh()
        return self._known()

    async def find(self, name: str) -> ServerFacts | None:
        """Return the server of that name, whoever made it, or None: the API says that there is none.

        Raises:
            ProviderError: the API does not answer, and the server was not seen lately.
        """
        if (noted := self._freshly_noted(name)) is not None:
            return noted
        try:
            await self._refresh()
        except GrowthError:
            seen = self._seen(name)
            if seen is None or self._age() > USABLE_FOR_SECONDS:
                raise
            return seen
        if (seen := self._seen(name)) is not None:
            return seen
        now = self._elapsed()
        if now - self._absent.get(name, float("-inf")) < ABSENT_FOR_SECONDS:
            return None
        server = await self._client.server(name) or self._fresh(name)
        if server is not None:
            self.note(server)
        else:
            self._absent = {one: at for one, at in self._absent.items() if now - at < ABSENT_FOR_SECONDS} | {name: now}
        return server

    async def listed(self, name: str) -> ServerFacts | None:
        """Return the server of that name, without a call for it alone; None if no list shows it.

        Raises:
            ProviderError: the API does not tell.
        """
        await self._refresh()
        return self._seen(name)

    def note(self, server: ServerFacts) -> None:
        """Note a server as the API has just shown it."""
        self._absent.pop(server.name, None)
        self._notes.pop(server.name, None)
        self._notes[server.name] = _Note(server, self._elapsed())
        while len(self._notes) > _MOST_NOTES:
            del self._notes[next(iter(self._notes))]

    def note_made(self, server: ServerFacts) -> None:
        """Note a server that the API has just made."""
        self.note(server)
        self._made[server.name] = self._notes[server.name]
        oldest = self._elapsed() - FRESH_FOR_SECONDS
        self._made = {name: note for name, note in self._made.items() if note.at > oldest}

    def note_deleting(self, server: ServerFacts) -> None:
        """Note that the deletion of the server was asked for."""
        self.note(replace(server, status="deleting"))
        self._made.pop(server.name, None)

    def forget(self, name: str) -> None:
        """Forget the server of this name: whether it exists is unknown from now on."""
        for known in (self._notes, self._made, self._listed, self._absent):
            known.pop(name, None)

    async def _refresh(self) -> None:
        async with self._one_flight:
            if self._listed_at is not None and self._age() < LISTED_FOR_SECONDS:
                return
            # Before the call: what is noted while it runs is newer.
            began = self._elapsed()
            listed = await self._client.servers(f"{LABEL_CLUSTER}={self._identity.name}")
            self._listed = {server.name: server for server in listed}
            self._listed_at = began
            self._notes = {name: note for name, note in self._notes.items() if note.at >= began}

    def _known(self) -> list[ServerFacts]:
        """Return all servers of the cluster that are believed to be there."""
        names = dict.fromkeys((*self._listed, *self._notes, *self._made))
        servers = [self._seen(name) or self._fresh(name) for name in names]
        return [one for one in servers if one is not None and one.labels.get(LABEL_CLUSTER) == self._identity.name]

    def _seen(self, name: str) -> ServerFacts | None:
        """Return the server of a name as last seen, by the list or by a newer note."""
        note = self._notes.get(name)
        return self._listed.get(name) if note is None else note.server

    def _fresh(self, name: str) -> ServerFacts | None:
        made = self._made.get(name)
        return None if made is None or self._elapsed() - made.at >= FRESH_FOR_SECONDS else made.server

    def _freshly_noted(self, name: str) -> ServerFacts | None:
        note = self._notes.get(name)
        return None if note is None or self._elapsed() - note.at >= LISTED_FOR_SECONDS else note.server

    def _age(self) -> float:
        return float("inf") if self._listed_at is None else self._elapsed() - self._listed_at
