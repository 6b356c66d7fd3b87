"""The recent changes of one resource: what watches are fed from."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from activities.ports.cluster import Object, WatchEvent
from activities.ports.errors import Expired
from simulator.apiserver.copying import copy_json
from simulator.apiserver.selectors import Matches

Kind = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(frozen=True, slots=True)
class Change:
    """One write. Its objects are shared with the store, which never changes an object in place."""

    version: int
    kind: Kind
    now: Object
    before: Object | None


class History:
    """A bounded log of changes with any number of watchers, each at its own place."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._changes: deque[Change] = deque()
        self._dropped = 0
        """How many changes were forgotten: the place of the oldest one that is kept."""
        self._forgotten_version = 0
        self._waiting: dict[asyncio.Future[None], None] = {}
        """In the order in which they came: a set would wake them by their addresses, and a seed would not repeat."""
        self._closed = 0

    def append(self, change: Change) -> None:
        """Keep a change, forget the oldest beyond the capacity, wake all watchers."""
        self._changes.append(change)
        while len(self._changes) > self._capacity:
            self._forget_oldest()
        self._wake()

    def forget(self) -> None:
        """Forget all changes, so that every watch that has not seen them expires, as after a compaction of etcd."""
        while self._changes:
            self._forget_oldest()
        self._wake()

    def close(self) -> None:
        """End all watches that run now, as when their resource is gone."""
        self._closed += 1
        self._wake()

    async def watch(self, version: int, matches: Matches) -> AsyncIterator[WatchEvent]:
        """Yield the changes after `version` to objects that match, until `close`.

        An object that begins to match is ADDED to this watch, one that no longer does is DELETED from it, as it
        last matched.
        Source: Kubernetes docs, "Efficient detection of changes"; measured on an API server.

        Raises:
            Expired: changes after `version` were forgotten.
        """
        place = self._place_after(version)
        closed = self._closed
        while closed == self._closed:
            while place < self._dropped + len(self._changes):
                if place < self._dropped:
                    raise Expired("the watch fell behind: list again")
                change = self._changes[place - self._dropped]
                place += 1
                if event := _seen_through(change, matches):
                    yield event
            if place < self._dropped:
                raise Expired("the watch fell behind: list again")
            await self._next()

    def _place_after(self, version: int) -> int:
        if version < self._forgotten_version:
            raise Expired(f"resourceVersion {version} is too old ({self._forgotten_version}): list again")
        older = 0
        for change in reversed(self._changes):
            if change.version <= version:
                break
            older += 1
        return self._dropped + len(self._changes) - older

    def _forget_oldest(self) -> None:
        self._forgotten_version = self._changes.popleft().version
        self._dropped += 1

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    async def _next(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = None
        try:
            await waiter
        finally:
            self._waiting.pop(waiter, None)


def _seen_through(change: Change, matches: Matches) -> WatchEvent | None:
    before = change.before if change.before is not None and matches(change.before) else None
    if change.kind != "DELETED" and matches(change.now):
        return WatchEvent("MODIFIED" if before else "ADDED", copy_json(change.now))
    if before is None:
        return None
    last = copy_json(change.now if change.kind == "DELETED" else before)
    last["metadata"]["resourceVersion"] = str(change.version)
    return WatchEvent("DELETED", last)
