"""The fence: one round writes at a time, also when a round that timed out still runs somewhere; and writes under it.

A workflow id does not fence an activity. A round therefore takes a Lease object by conditional
write and writes only within a shorter time, measured from before the take, so that its last call
has ended before anyone else may take over. Who finds the Lease held waits until it has not changed
for its whole duration by the waiter's own clocks; the holder's play no part. A wall clock may be set,
and one that nobody sets may stand still while the machine sleeps: the holder believes the one by
which more time has passed, the waiter the other.
Source: docs/design.md#fence.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final, TypeVar

from pydantic import ValidationError

from activities.kube.json_patch import guarded, set_field
from activities.ports.cluster import LEASES, Object
from activities.ports.errors import AlreadyExists, Conflict, GrowthError, NotFound, Unreachable
from activities.ports.ports import Ports

NAME: Final = "growth-round"
HELD_FOR: Final = timedelta(seconds=15)
"""An unchanged Lease is free after this."""
WRITES_WITHIN: Final = timedelta(seconds=10)
"""A call begun by then ends, by the client's time-out of 4 s, before the Lease may be taken by another."""
_LOOK_EVERY: Final = timedelta(seconds=0.5)
_WAIT_AT_MOST: Final = HELD_FOR + timedelta(seconds=2)
"""Long enough to outwait a round that crashed; a healthy one is over within a second or two."""
_AT_ONCE: Final = 8
"""Concurrent writes of one kind: a hundred machines take a dozen round trips, and the API server is not flooded."""

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)


class Fenced(GrowthError):
    """Another round holds the fence."""

    reason: ClassVar[str] = "Fenced"
    retryable: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class _Moment:
    """Now, by both clocks."""

    wall: datetime
    steady: float

    def passed_until(self, later: "_Moment") -> tuple[timedelta, timedelta]:
        """Return the time that passed until then, by each clock."""
        return later.wall - self.wall, timedelta(seconds=later.steady - self.steady)


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A Lease as it was first seen at this version."""

    version: tuple[str, str]
    """Uid and resourceVersion."""
    at: _Moment


class Hold:
    """The fence, held."""

    def __init__(self, ports: Ports, lease: Object, identity: str, asked_at: _Moment) -> None:
        self._ports = ports
        self._lease = lease
        self._identity = identity
        self._asked_at = asked_at
        self.is_kept = False
        """The fence is left to expire instead of being released."""

    def time_left(self) -> timedelta:
        """Return the time in which writes may still begin; never negative, zero after a clock that went back."""
        passed = self._asked_at.passed_until(_now(self._ports))
        return max(WRITES_WITHIN - max(passed), timedelta()) if min(passed) >= timedelta() else timedelta()

    def can_write(self) -> bool:
        """Return whether a write may begin now."""
        return self.time_left() > timedelta()

    def keep(self) -> None:
        """Do not release: a call of unknown outcome may still take effect and must find nobody else writing."""
        self.is_kept = True

    async def renew(self) -> None:
        """Begin the time for writes anew.

        What was read under the fence stays true: the Lease has not changed since it was taken, so
        no other round has written.

        Raises:
            Fenced: another round took it meanwhile.
            Unreachable: unknown outcome; what is held stays held, the time does not begin anew.
        """
        asked_at = _now(self._ports)
        try:
            self._lease = await _take(self._ports, self._lease, self._identity, asked_at)
        except (Conflict, NotFound) as error:
            self.keep()
            raise Fenced(f"the fence {NAME} was taken by another round: {error}") from error
        self._asked_at = asked_at

    async def release(self) -> None:
        """Let others go on at once. A failure is logged: the Lease then expires by itself."""
        release = set_field(self._lease, ("spec", "holderIdentity"), None)
        try:
            await self._ports.cluster.patch(
                LEASES, NAME, guarded(self._lease, release), namespace=self._ports.namespace
            )
        except GrowthError as error:
            log.warning("the fence %s was not released and will expire: %s", NAME, error)


class Fence:
    """Takes the Lease, and remembers how long it has seen another's.

    Args:
        ports: the outside world.
        sleep: waits for seconds.
    """

    def __init__(self, ports: Ports, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._ports = ports
        self._sleep = sleep
        self._seen: _Sighting | None = None

    @asynccontextmanager
    async def held(self, identity: str) -> AsyncIterator[Hold]:
        """Hold the fence for the block; `identity` names this attempt and no other.

        It is released at the end of the block, also when one of our errors ends it, unless the block
        said `keep`. Any other end leaves it to expire: a write may have been under way.

        Raises:
            Fenced: another round holds it, also after the wait.
            Unreachable: the API server does not answer.
        """
        hold = await self._acquire(identity)
        try:
            yield hold
        except GrowthError:
            if not hold.is_kept:
                await hold.release()
            raise
        if not hold.is_kept:
            await hold.release()

    async def look(self) -> None:
        """Note a Lease that another holds: the wait until it is free counts from here, without a word of its holder."""
        with suppress(GrowthError):
            self._is_free(await self._ports.cluster.get(LEASES, NAME, namespace=self._ports.namespace))

    async def _acquire(self, identity: str) -> Hold:
        give_up_at = self._ports.now() + _WAIT_AT_MOST
        looks = _WAIT_AT_MOST // _LOOK_EVERY
        while True:
            hold = await self._try(identity)
            if hold is not None:
                return hold
            looks -= 1
            if looks <= 0 or self._ports.now() >= give_up_at:
                raise Fenced(f"another round holds the fence {NAME} in namespace {self._ports.namespace}")
            await self._sleep(_LOOK_EVERY.total_seconds())

    async def _try(self, identity: str) -> Hold | None:
        cluster, namespace = self._ports.cluster, self._ports.namespace
        asked_at = _now(self._ports)
        try:
            lease = await cluster.get(LEASES, NAME, namespace=namespace)
        except NotFound:
            body = {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {"name": NAME, "namespace": namespace},
                "spec": _spec(identity, asked_at),
            }
            try:
                lease = await cluster.create(LEASES, body, namespace=namespace)
            except AlreadyExists:
                return None
            return Hold(self._ports, lease, identity, asked_at)
        if not self._is_free(lease):
            return None
        # Before the write: its reply may be late, and the holder must stop before the Lease is free for others.
        asked_at = _now(self._ports)
        try:
            lease = await _take(self._ports, lease, identity, asked_at)
        except (Conflict, NotFound):
            # Another one was first: the patch tests the version that was found free.
            return None
        return Hold(self._ports, lease, identity, asked_at)

    def _is_free(self, lease: Object) -> bool:
        if not lease.get("spec", {}).get("holderIdentity"):
            return True
        now = _now(self._ports)
        version = (lease["metadata"]["uid"], lease["metadata"]["resourceVersion"])
        if self._seen is None or self._seen.version != version or now.wall < self._seen.at.wall:
            self._seen = _Sighting(version, now)
        return min(self._seen.at.passed_until(now)) >= HELD_FOR


def _now(ports: Ports) -> _Moment:
    return _Moment(ports.now(), ports.elapsed())


async def _take(ports: Ports, lease: Object, identity: str, now: _Moment) -> Object:
    return await ports.cluster.patch(
        LEASES,
        NAME,
        guarded(lease, [{"op": "add", "path": "/spec", "value": _spec(identity, now)}]),
        namespace=ports.namespace,
    )


def _spec(identity: str, now: _Moment) -> Object:
    moment = now.wall.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {
        "holderIdentity": identity,
        "leaseDurationSeconds": int(HELD_FOR.total_seconds()),
        "acquireTime": moment,
        "renewTime": moment,
    }


class RoundWrites:
    """Runs the writes of one round and keeps count of what was not written."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self.failed = 0
        """Writes that were refused: the next round decides anew."""
        self.left = 0
        """Writes not begun, because the time was over or an outcome was unknown."""

    async def attempt(self, name: str, write: Callable[[], Awaitable[R]]) -> R | None:
        """Return the result of `write`, or None if it was left out or failed; `name` stands for it in the log."""
        if self._hold.is_kept or not self._hold.can_write():
            self.left += 1
            return None
        try:
            return await write()
        except Unreachable as error:
            # The call may still take effect. Nobody may decide anything before that is over.
            self._hold.keep()
            self.left += 1
            log.warning("%s: unknown outcome, the rest of the round is left to the next: %s", name, error)
        except (GrowthError, ValidationError) as error:
            self.refuse(name, error)
        return None

    def refuse(self, name: str, error: Exception) -> None:
        """Count and log a write that cannot be done; the next round decides on it anew."""
        self.failed += 1
        log.warning("%s failed: %s", name, error)

    async def each(
        self, items: Iterable[T], name_of: Callable[[T], str], write: Callable[[T], Awaitable[R]]
    ) -> list[tuple[T, R]]:
        """Attempt one write per item, some at once, and return the items that succeeded with their results."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def attempt_one(item: T) -> tuple[T, R] | None:
            async with gate:
                result = await self.attempt(name_of(item), lambda: write(item))
            return None if result is None else (item, result)

        done = await asyncio.gather(*(attempt_one(item) for item in items))
        return [pair for pair in done if pair is not None]
