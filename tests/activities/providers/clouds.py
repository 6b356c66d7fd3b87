"""Simulated servers on a cluster whose calls can fail, with a clock."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from activities.ports.cluster import CONFIG_MAPS, NODES
from activities.ports.errors import NotFound
from activities.ports.provider import ServerOrder
from activities.providers.built_in import KWOK_NODE_CLASSES
from activities.providers.kwok.provider import KwokProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import machine, node_class
from tests.activities.rounds import FlakyCluster

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAME = "default-a1"
SPACE = "growth-system"
TAINT = {"key": "growth.dev/unregistered", "effect": "NoSchedule"}
ORDER = ServerOrder(
    name=NAME,
    server_type="small",
    location="fsn1",
    labels={"growth.dev/cluster": "one", "growth.dev/request-uid": "0f"},
    node_labels={"growth.dev/pool": "default", "team": "shop"},
    node_taints=[TAINT],
)


class Cloud:
    """A provider on a cluster whose calls can fail, and a clock."""

    def __init__(self):
        self._now = START
        self.cluster = FlakyCluster(self.now)
        self.restart()

    def now(self):
        return self._now

    def restart(self):
        self.provider = KwokProvider(self.cluster, SPACE, self.now)

    def pass_time(self, seconds):
        self._now += timedelta(seconds=seconds)

    async def install(self, *faults, locations=("fsn1",), **fields):
        """The class, in place of one that was there before."""
        small = machine("small", cpu=2, memory=4, price="0.0106", locations=locations, boot_time="10s") | fields
        self.node_class = node_class([small], faults=faults)
        with suppress(NotFound):
            await self.cluster.delete(KWOK_NODE_CLASSES, "default")
        self.node_class = await self.cluster.create(KWOK_NODE_CLASSES, self.node_class)

    async def create(self, **changes):
        return await self.provider.create(self.node_class, replace(ORDER, **changes))

    async def record(self, name=NAME):
        return await MemoryCluster.get(self.cluster, CONFIG_MAPS, name, namespace=SPACE)

    async def nodes(self):
        return [node["metadata"]["name"] for node in (await MemoryCluster.list(self.cluster, NODES)).items]
