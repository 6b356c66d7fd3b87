"""What happens in the cluster, change by change: who is in flight at the same time, and when what came true."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.kube.cache import Cache
from activities.kube.client import KubeCluster
from activities.ports.cluster import (
    CONFIG_MAPS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    PODS,
    Object,
    Resource,
    WatchEvent,
)
from api.keys import LABEL_REQUEST
from tests.e2e.harness import ControlPlane
from tests.e2e.workloads import NAMESPACE


@dataclass(frozen=True, slots=True)
class InFlight:
    """How much was under way at one moment."""

    requests: int = 0
    """That are not Ready yet: each has a phase before Ready on record."""
    removals: int = 0
    """That are there: a removal exists until its machine is gone."""

    @property
    def both(self) -> int:
        """Return how many of each there were at least."""
        return min(self.requests, self.removals)


class Census:
    """Counts by watches of its own. All times are this process's, UTC."""

    def __init__(self, plane: ControlPlane, cluster: KubeCluster) -> None:
        self._plane = plane
        self.cache = Cache(cluster, (PODS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, CONFIG_MAPS))
        self.cache.subscribe(self._note)
        self.forget()
        self.bound: dict[str, str] = {}
        """Node by name of a pod that exists."""
        self.running: dict[str, datetime] = {}
        """Since when, by name of a pod that exists."""
        self._coming: set[str] = set()
        self._going: set[str] = set()
        self.servers_ever: dict[str, set[str]] = {}
        """Uids of the records of the servers that there were, by name: two for one name are two purchases."""
        self.requests_ever: set[str] = set()
        self.seats: dict[str, str] = {}
        """The request on which a pod last had a seat, by name of the pod."""
        self.first_seats: dict[str, str] = {}
        """The request that was made for a pod first."""

    def forget(self) -> None:
        """Begin a new scene: moments and peaks of what happens from now on."""
        self.most = InFlight()
        """The moment at which most were in flight, as the lesser of the two numbers."""
        self.ended: list[datetime] = []
        """When lifecycles ended: a request is Ready, a removal is gone."""
        self.unschedulable: dict[str, datetime] = {}
        """By pod."""
        self._created: list[datetime] = []
        self.ordered: dict[str, datetime] = {}
        """When a server was asked for, as the worker wrote it down, by name of the request."""

    def up(self, workload: str) -> int:
        """Return how many pods of a workload exist and run."""
        return sum(name in self.running for name in self.bound if name.startswith(f"{workload}-"))

    async def until(self, holds: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until `holds` returns true; fail when a process dies or the time is over."""
        deadline = time.monotonic() + seconds
        while not holds():
            self._plane.check()
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:g} s; {self}")
            await asyncio.sleep(0.1)

    def created_within(self) -> float:
        """Return the seconds between the first and the last pod, as this process learned of them."""
        return (max(self._created) - min(self._created)).total_seconds()

    def __str__(self) -> str:
        return (
            f"{len(self._coming)} requests and {len(self._going)} removals in flight, "
            f"{len(self.unschedulable)} pods were unschedulable, {len(self.running)} run"
        )

    def _note(self, resource: Resource, event: WatchEvent, before: Object | None) -> None:
        item, is_gone = event.object, event.type == "DELETED"
        if resource == PODS:
            if item["metadata"]["namespace"] == NAMESPACE:
                if before is None:
                    self._created.append(datetime.now(UTC))
                self._pod(item, is_gone=is_gone)
        elif resource == CONFIG_MAPS:
            if LABEL_REQUEST in (item["metadata"].get("labels") or {}):
                self.servers_ever.setdefault(item["metadata"]["name"], set()).add(item["metadata"]["uid"])
        elif resource == NODE_REQUESTS:
            self._request(item, is_gone=is_gone)
        else:
            self._removal(item["metadata"]["name"], is_gone=is_gone)

    def _pod(self, pod: Object, *, is_gone: bool) -> None:
        name, now = pod["metadata"]["name"], datetime.now(UTC)
        if is_gone:
            self.bound.pop(name, None)
            self.running.pop(name, None)
            return
        if any(one.get("reason") == "Unschedulable" for one in pod["status"].get("conditions", ())):
            self.unschedulable.setdefault(name, now)
        if "nodeName" in pod["spec"]:
            self.bound[name] = pod["spec"]["nodeName"]
        if pod["status"].get("phase") == "Running":
            self.running.setdefault(name, now)

    def _request(self, request: Object, *, is_gone: bool) -> None:
        name, status = request["metadata"]["name"], request.get("status", {})
        self.requests_ever.add(name)
        for seat in request["spec"].get("reservedFor", ()):
            self.seats[seat["name"]] = name
            self.first_seats.setdefault(seat["name"], name)
        if "createAttemptAt" in status:
            self.ordered.setdefault(name, datetime.fromisoformat(status["createAttemptAt"]))
        if is_gone or status.get("phase") == "Ready":
            if name in self._coming:
                self._coming.discard(name)
                self.ended.append(datetime.now(UTC))
        elif "phase" in status:
            self._coming.add(name)
        self._compare()

    def _removal(self, name: str, *, is_gone: bool) -> None:
        if is_gone:
            self._going.discard(name)
            self.ended.append(datetime.now(UTC))
        else:
            self._going.add(name)
        self._compare()

    @property
    def now(self) -> InFlight:
        """What is in flight at this moment."""
        return InFlight(len(self._coming), len(self._going))

    def _compare(self) -> None:
        now = self.now
        if (now.both, now.requests + now.removals) > (self.most.both, self.most.requests + self.most.removals):
            self.most = now


@asynccontextmanager
async def census(plane: ControlPlane, cluster: KubeCluster) -> AsyncIterator[Census]:
    """Lend a census that counts while the block lasts."""
    taken = Census(plane, cluster)
    following = asyncio.create_task(taken.cache.run())
    try:
        await taken.cache.wait_until_synced()
        yield taken
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
