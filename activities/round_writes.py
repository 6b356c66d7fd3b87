"""How a round writes: only while its fence holds, each write on its own, none after an unknown outcome."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Literal, TypeVar

from pydantic import ValidationError

from activities.cluster import Cluster, Object, PatchOp, Resource
from activities.errors import Conflict, GrowthError, Unreachable
from activities.fence import Hold
from activities.writes import guarded

_AT_ONCE: Final = 8
"""Concurrent writes of one kind: a hundred machines take a dozen round trips, and the API server is not flooded."""

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)


class RoundWrites:
    """Runs the writes of one round and keeps count of what was not written."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self.failed = 0
        """Writes that were refused: the next round decides anew."""
        self.left = 0
        """Writes not begun, because the time was over or an outcome was unknown."""

    async def attempt(self, what: str, write: Callable[[], Awaitable[R]]) -> R | None:
        """Return what `write` returns, or None if it was left out or failed; `what` names it in the log."""
        if self._hold.is_kept or not self._hold.can_write():
            self.left += 1
            return None
        try:
            return await write()
        except Unreachable as error:
            # The call may still take effect. Nobody may decide anything before that is over.
            self._hold.keep()
            self.left += 1
            log.warning("%s: unknown outcome, the rest of the round is left to the next: %s", what, error)
        except (GrowthError, ValidationError) as error:
            self.refuse(what, error)
        return None

    def refuse(self, what: str, error: Exception) -> None:
        """Count and log a write that cannot be done; the next round decides on it anew."""
        self.failed += 1
        log.warning("%s failed: %s", what, error)

    async def each(
        self, items: Iterable[T], what: Callable[[T], str], write: Callable[[T], Awaitable[R]]
    ) -> list[tuple[T, R]]:
        """Attempt one write per item, some at once, and return the items that succeeded with their results."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(item: T) -> tuple[T, R] | None:
            async with gate:
                result = await self.attempt(what(item), lambda: write(item))
            return None if result is None else (item, result)

        done = await asyncio.gather(*(one(item) for item in items))
        return [pair for pair in done if pair is not None]


async def patch_if_same(
    cluster: Cluster,
    resource: Resource,
    read: Object,
    operations: Callable[[Object], Sequence[PatchOp]],
    is_same: Callable[[Object], bool],
    *,
    subresource: Literal["status"] | None = None,
) -> Object:
    """Patch a cluster-scoped object on condition that it is as it was read, and return it.

    When it changed, it is read again, and patched if `is_same` says that nothing changed on which
    the patch was decided.

    Raises:
        NotFound: it does not exist any more.
        Conflict: it is another object, or differs in what matters, or keeps changing.
        Rejected: the result is invalid.
    """
    name = read["metadata"]["name"]
    try:
        return await cluster.patch(resource, name, guarded(read, operations(read)), subresource=subresource)
    except Conflict:
        live = await cluster.get(resource, name)
        if live["metadata"]["uid"] != read["metadata"]["uid"] or not is_same(live):
            raise
        return await cluster.patch(resource, name, guarded(live, operations(live)), subresource=subresource)
