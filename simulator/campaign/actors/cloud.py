"""A provider that fails in every way a cloud can: it refuses, loses requests and replies, answers late, or lies.

It stands before the provider of the simulated cluster. What it does wrong is in force for a time (`Trouble`) and
decided by a seed. One `Cloud` serves all workers; each has a `CloudClient` of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import Any, ClassVar, Final

from activities.kube.json_patch import escape
from activities.ports.cluster import CONFIG_MAPS, NODES, Object, Resource
from activities.ports.errors import (
    AlreadyExists,
    AuthenticationFailed,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    UnknownOutcome,
)
from activities.ports.provider import Provider, Server, ServerOrder
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import LABEL_KWOK_SERVER
from api.meta import format_timestamp
from planner.objects.offering import Offering
from simulator.apiserver.store import Observer
from simulator.campaign.judging.provider_side import Side, labels_of_others
from simulator.clock import START
from simulator.world import NAMESPACE, World

_MANAGED: Final = f"/metadata/annotations/{escape('kwok.x-k8s.io/node')}"
_LATEST_SECONDS: Final = 40.0
"""A create call may take effect this long after it was given up; absence is believed after 60 s."""
_VANISHES_WITHIN_SECONDS: Final = 8.0


class Trouble(StrEnum):
    """What is wrong with the cloud for a while."""

    SOLD_OUT = "sold out"
    """One server type has no capacity."""
    QUOTA = "quota"
    CREDENTIALS = "credentials"
    CONFIGURATION = "configuration"
    NAME_TAKEN = "create: another cluster has a server of that name"
    CREATE_LOST = "create: request lost"
    CREATE_REPLY_LOST = "create: reply lost"
    CREATE_LATE = "create: effect long after the reply was lost"
    CREATE_VANISHES = "create: effect lost after the reply"
    DELETE_REFUSED = "delete: refused"
    DELETE_REPLY_LOST = "delete: reply lost"
    DELETE_DEAF = "delete: says yes and does nothing"
    SILENT = "gives no answer"
    LIST_EMPTY = "list: empty by error"


_REFUSALS: Final = {
    Trouble.QUOTA: QuotaExceeded,
    Trouble.CREDENTIALS: AuthenticationFailed,
    Trouble.CONFIGURATION: InvalidConfiguration,
}


class Cloud(Side):
    """The provider's side: its servers, what is wrong with it, and what it was asked.

    Args:
        world: where the servers are.
        random: decides which call meets a trouble, and when late effects come.
        seconds: the true time.
        spawn: runs late effects.
    """

    most_per_request = 2
    """One, and one more by a write to the provider's records that took effect seconds after it was given up."""

    def __init__(
        self,
        world: World,
        *,
        random: Random,
        seconds: Callable[[], float],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        super().__init__()
        self.world = world
        self.random = random
        self._spawn = spawn
        self._seconds = seconds
        self._until: dict[Trouble, float] = {}
        self._sold_out = ""

    def observe(self, observer: Observer) -> None:
        """Do nothing: all records are objects of the cluster."""

    def worsen(self, trouble: Trouble, lasts_seconds: float, *, server_type: str = "") -> None:
        """Let a trouble begin; `server_type` is the one that is sold out."""
        self._until[trouble] = self._seconds() + lasts_seconds
        if trouble is Trouble.SOLD_OUT:
            self._sold_out = server_type

    def calm(self) -> None:
        """End all troubles."""
        self._until.clear()

    def meets(self, trouble: Trouble, share: float = 1.0) -> bool:
        """Return whether a call meets the trouble now; with `share`, only some do."""
        if self._seconds() >= self._until.get(trouble, 0.0) or self.random.random() >= share:
            return False
        self.met[trouble] += 1
        return True

    def is_sold_out(self, server_type: str) -> bool:
        """Return whether a call for this type finds no capacity."""
        return server_type == self._sold_out and self.meets(Trouble.SOLD_OUT)

    async def plant(self, name: str) -> None:
        """Let another cluster have a server of this name, if it is free."""
        # No history is long enough for one to become as old as an orphan.
        moment = format_timestamp(START - timedelta(hours=1))
        record = {
            "metadata": {
                "name": name,
                "labels": {**labels_of_others(name, len(self.foreign)), LABEL_KWOK_SERVER: "true"},
            },
            "data": {
                "serverType": "small",
                "location": "fsn1",
                "class": "default",
                "created": moment,
                "runsAt": moment,
                "node": "{}",
                "joined": "true",
            },
        }
        with suppress(AlreadyExists):
            await self.world.cluster.create(CONFIG_MAPS, record, namespace=NAMESPACE)
            self.foreign.add(name)

    async def lose(self, name: str) -> None:
        """Let a server vanish, as if somebody had deleted it at the provider; its Node is silent from then on."""
        self.lost.add(name)
        with suppress(NotFound):
            await self.world.cluster.delete(CONFIG_MAPS, name, namespace=NAMESPACE)
        with suppress(NotFound):
            await self.world.cluster.patch(NODES, name, [{"op": "add", "path": _MANAGED, "value": "gone"}])

    def later(self, call: Callable[[], Awaitable[object]], longest_seconds: float) -> None:
        """Let `call` take effect some time from now."""
        self._spawn(_later(call, self.random.uniform(0, longest_seconds)))


class CloudClient:
    """The `Provider` of one worker.

    Args:
        inner: does what is asked, over the worker's own connection.
        cloud: decides what goes wrong.
    """

    node_classes: ClassVar[Resource] = KWOK_NODE_CLASSES

    def __init__(self, inner: Provider, cloud: Cloud) -> None:
        self._inner = inner
        self._cloud = cloud

    def offerings(self, node_class: Object) -> tuple[Offering, ...]:
        """Return every offering of the class: `Provider.offerings`."""
        return self._inner.offerings(node_class)

    def image(self, node_class: Object, offering: Offering) -> str | None:
        """Return the image of the offering: `Provider.image`."""
        return self._inner.image(node_class, offering)

    def refusal(self, server_type: str) -> str | None:
        """Return why the type can never be offered: `Provider.refusal`."""
        return self._inner.refusal(server_type)

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        """Create the server, or fail: `Provider.create`."""
        cloud = self._cloud
        cloud.calls["create"] += 1
        self._answer("create")
        for trouble, refusal in _REFUSALS.items():
            if cloud.meets(trouble):
                raise refusal(f"simulated: {trouble}")
        if cloud.is_sold_out(order.server_type):
            raise InsufficientCapacity(f"simulated: {order.server_type} is sold out")
        if cloud.meets(Trouble.CREATE_LOST, 0.7):
            raise UnknownOutcome(f"simulated: {Trouble.CREATE_LOST}")
        if cloud.meets(Trouble.CREATE_LATE, 0.7):
            cloud.late[order.name] += 1
            # Not over the worker's connection: the call has left it, and its death does not call it back.
            cloud.later(lambda: cloud.world.provider.create(node_class, order), _LATEST_SECONDS)
            raise UnknownOutcome(f"simulated: {Trouble.CREATE_LATE}")
        if cloud.meets(Trouble.NAME_TAKEN, 0.5):
            await cloud.plant(order.name)
        server = await self._inner.create(node_class, order)
        if cloud.meets(Trouble.CREATE_REPLY_LOST, 0.7):
            raise UnknownOutcome(f"simulated: {Trouble.CREATE_REPLY_LOST}")
        if order.name not in cloud.foreign and cloud.meets(Trouble.CREATE_VANISHES, 0.5):
            cloud.later(lambda: cloud.lose(order.name), _VANISHES_WITHIN_SECONDS)
        return server

    async def get(self, name: str, class_name: str | None = None) -> Server:
        """Return the server: `Provider.get`."""
        self._cloud.calls["get"] += 1
        self._answer("get")
        return await self._inner.get(name, class_name)

    async def list(self, cluster: str) -> list[Server]:
        """Return the servers: `Provider.list`."""
        self._cloud.calls["list"] += 1
        self._answer("list")
        return [] if self._cloud.meets(Trouble.LIST_EMPTY) else await self._inner.list(cluster)

    async def delete(self, name: str, class_name: str | None = None) -> None:
        """Delete the server, or fail: `Provider.delete`."""
        cloud = self._cloud
        cloud.calls["delete"] += 1
        self._answer("delete")
        if cloud.meets(Trouble.DELETE_REFUSED):
            raise UnknownOutcome(f"simulated: {Trouble.DELETE_REFUSED}")
        if cloud.meets(Trouble.DELETE_DEAF):
            return
        await self._inner.delete(name, class_name)
        if cloud.meets(Trouble.DELETE_REPLY_LOST, 0.7):
            raise UnknownOutcome(f"simulated: {Trouble.DELETE_REPLY_LOST}")

    async def label(self, name: str, labels: dict[str, str], class_name: str | None = None) -> None:
        """Add labels: `Provider.label`."""
        self._cloud.calls["label"] += 1
        self._answer("label")
        await self._inner.label(name, labels, class_name)

    async def tend(self) -> float:
        """Do what is due between calls: `Provider.tend`."""
        return await self._inner.tend()

    async def close(self) -> None:
        """Close connections: `Provider.close`."""
        await self._inner.close()

    def _answer(self, verb: str) -> None:
        if self._cloud.meets(Trouble.SILENT, 0.8):
            raise UnknownOutcome(f"simulated: {verb} gets no answer")


async def _later(call: Callable[[], Awaitable[object]], seconds: float) -> None:
    await asyncio.sleep(seconds)
    # Nobody is there any more to hear of a refusal.
    with suppress(GrowthError):
        await call()
