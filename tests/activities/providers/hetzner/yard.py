"""A HetznerNodeClass in a cluster in memory, the fake API without a network, and time that a test moves."""

import base64
from datetime import UTC, datetime, timedelta

from activities.ports.cluster import SECRETS
from activities.ports.ports import in_place
from activities.ports.provider import ServerOrder
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.provider import HetznerProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import InProcess

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
TOKEN = "k" * 40 + "Token0123456789abcdefghi"
CLUSTER = "one"
SUBNET = "10.0.1.0/24"
NAMESPACE = "growth-system"
LABELS = {
    "growth.dev/cluster": CLUSTER,
    "growth.dev/pool": "default",
    "growth.dev/request": "default-a1",
    "growth.dev/request-uid": "0f",
}
ORDER = ServerOrder(
    name="default-a1",
    server_type="cx23",
    location="fsn1",
    labels=LABELS,
    node_labels={"growth.dev/pool": "default"},
    node_taints=[{"key": "growth.dev/unregistered", "effect": "NoSchedule"}],
)


def secret(name="hcloud", **values):
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def hetzner_class(name="default", **spec):
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "HetznerNodeClass",
        "metadata": {"name": name},
        "spec": {
            "tokenSecretRef": {"namespace": NAMESPACE, "name": "hcloud", "key": "token"},
            "image": {"name": "debian-12"},
            "userData": {"template": "#!/bin/sh\nkubelet {{ kubelet.args }}\n"},
            **spec,
        },
    }


class Yard:
    """`await yard.open(...)` makes the class and looks it up."""

    def __init__(self):
        self.clock = [START]
        self.cloud = FakeHetzner(lambda: self.now)
        self.cloud.add_token(TOKEN)
        self.cluster = MemoryCluster(lambda: self.now)
        self.provider = self.another_worker()

    def elapsed(self):
        return (self.now - START).total_seconds()

    def another_worker(self):
        return HetznerProvider(
            self.cluster,
            now=lambda: self.now,
            cluster_name=CLUSTER,
            compute=in_place,
            transport=InProcess(self.cloud),
            elapsed=self.elapsed,
        )

    async def open(self, *classes, token=TOKEN):
        await self.cluster.create(SECRETS, secret(token=token), namespace=NAMESPACE)
        for each in classes or (hetzner_class(),):
            await self.cluster.create(HETZNER_NODE_CLASSES, each)
        await self.provider.tend()
        return self

    @property
    def now(self):
        return self.clock[0]

    async def node_class(self, name="default"):
        return await self.cluster.get(HETZNER_NODE_CLASSES, name)

    async def create(self, order=ORDER, name="default"):
        return await self.provider.create(await self.node_class(name), order)

    async def tend_for(self, seconds, step=4):
        """Let time pass, with a pass of the worker's loop every few seconds."""
        for _ in range(0, int(seconds), step):
            self.clock[0] += timedelta(seconds=step)
            await self.provider.tend()

    def pass_time(self, seconds):
        self.clock[0] += timedelta(seconds=seconds)

    def servers(self):
        return {server.name: server for server in self.cloud.servers_of()}
