"""The provider: its cloud is a dict, and its servers' Nodes join when it is tended."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from activities.objects.node_classes import class_of
from activities.ports.cluster import NODES, Object, Resource
from activities.ports.errors import AlreadyExists, InsufficientCapacity, InvalidConfiguration, NotFound
from activities.ports.provider import Server, ServerOrder, ServerState
from activities.ports.provider_kind import Surroundings, node_classes_of
from api.keys import LABEL_CLUSTER, LABEL_HOSTNAME
from api.quantity import format_amount
from overcast.catalogue import offerings
from overcast.model import DEFINITION, OvercastNodeClass
from planner.objects.offering import Offering

BOOT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Cloudlet:
    """A server of the cloud, and the Node that it will be."""

    server: Server
    node: Object
    has_joined: bool = False


SKY: dict[str, Cloudlet] = {}
"""All servers, whichever worker asks."""


class OvercastProvider:
    node_classes: ClassVar[Resource] = node_classes_of(DEFINITION)

    def __init__(self, surroundings: Surroundings, sky: dict[str, Cloudlet] = SKY) -> None:
        self._cluster = surroundings.cluster
        self._now: Callable[[], datetime] = surroundings.now
        self._sky = sky

    def offerings(self, node_class: Object) -> tuple[Offering, ...]:
        return offerings(class_of(OvercastNodeClass, node_class))

    def image(self, node_class: Object, offering: Offering) -> str | None:
        return None

    def refusal(self, server_type: str) -> str | None:
        return None

    async def create(self, node_class: Object, order: ServerOrder) -> Server:
        if order.name in self._sky:
            return self._seen(order.name)
        wanted = (order.server_type, order.location)
        found = [o for o in self.offerings(node_class) if (o.server_type, o.location) == wanted]
        if not found:
            raise InvalidConfiguration(f"Overcast has no {order.server_type} in {order.location}")
        if not found[0].available:
            raise InsufficientCapacity(f"Overcast has no {order.server_type} in {order.location} left")
        server = Server(
            name=order.name,
            provider_id=f"overcast://{len(self._sky)}-{order.name}",
            state=ServerState.CREATING,
            server_type=order.server_type,
            location=order.location,
            labels=dict(order.labels),
            created_at=self._now(),
        )
        self._sky[order.name] = Cloudlet(server, _node(server, found[0], order))
        return server

    async def get(self, name: str, class_name: str | None = None) -> Server:
        if name not in self._sky:
            raise NotFound(f"Overcast has no server {name}")
        return self._seen(name)

    async def list(self, cluster: str) -> list[Server]:
        return [self._seen(name) for name, one in self._sky.items() if one.server.labels[LABEL_CLUSTER] == cluster]

    async def delete(self, name: str, class_name: str | None = None) -> None:
        self._sky.pop(name, None)

    async def label(self, name: str, labels: dict[str, str], class_name: str | None = None) -> None:
        server = await self.get(name)
        self._sky[name] = replace(self._sky[name], server=replace(server, labels={**server.labels, **labels}))

    async def tend(self) -> float:
        for name, one in list(self._sky.items()):
            if self._seen(name).state is ServerState.RUNNING and not one.has_joined:
                # Another worker may have been first.
                with suppress(AlreadyExists):
                    await self._cluster.create(NODES, one.node)
                self._sky[name] = replace(one, has_joined=True)
        return 1.0

    async def close(self) -> None:
        pass

    def _seen(self, name: str) -> Server:
        server = self._sky[name].server
        runs = self._now() >= server.created_at + BOOT
        return replace(server, state=ServerState.RUNNING) if runs else server


def _node(server: Server, offering: Offering, order: ServerOrder) -> Object:
    amounts = {name: format_amount(name, amount) for name, amount in offering.allocatable.items()}
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {
            "name": server.name,
            "labels": {**offering.labels, **order.node_labels, LABEL_HOSTNAME: server.name},
            # Who plays kubelets plays its Node, too.
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"providerID": server.provider_id, "taints": list(order.node_taints)},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
