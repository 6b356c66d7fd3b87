"""Two clusters with one name in one Hetzner project: each looks after its own servers and touches no other's.

Half of the servers of each are of an earlier version, without the uid of their cluster.
"""

from datetime import timedelta

import pytest

from activities.garbage.sweep import Healer
from activities.objects.events import Recorder
from activities.ports.cluster import EVENTS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, SECRETS
from activities.ports.ports import Ports, in_place
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.provider import HetznerProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.campaign.hetzner.setup import class_objects
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import InProcess
from simulator.hetzner.world import TOKEN
from tests.activities import bodies
from tests.activities.yards import START

NAME = "default"
UID = "growth.dev/cluster-uid"
SPACE = "growth-system"
MACHINES = 6


class Half:
    """One of the two clusters, with a worker's ports and sweeper."""

    def __init__(self, project, uid, *, knows_uid=True):
        self.project, self.uid = project, uid
        self.cluster = MemoryCluster(project.now)
        self.provider = HetznerProvider(
            self.cluster,
            now=project.now,
            cluster_name=NAME,
            cluster_uid=uid if knows_uid else "",
            compute=in_place,
            transport=InProcess(project.cloud),
            elapsed=project.elapsed,
        )
        self.ports = Ports(
            cluster=self.cluster,
            reader=self.cluster,
            providers={HETZNER_NODE_CLASSES.kind: self.provider},
            now=project.now,
            cluster_name=NAME,
            cluster_uid=uid if knows_uid else "",
            namespace=SPACE,
            compute=in_place,
        )
        self.healer = Healer(self.ports, Recorder(self.ports))

    async def install(self):
        self.cluster.install_definitions(bodies.definitions())
        secret, node_class = class_objects({})
        await self.cluster.create(SECRETS, secret, namespace=SPACE)
        await self.cluster.create(HETZNER_NODE_CLASSES, node_class)
        await self.cluster.create(NODE_POOLS, bodies.pool("default"))
        return self

    def make(self, name, uid, *, is_marked):
        """Let the cluster have a server that was made for the request with this uid."""
        labels = {
            "growth.dev/cluster": NAME,
            "growth.dev/pool": "default",
            "growth.dev/server-type": "cx23",
            "growth.dev/request": name,
            "growth.dev/request-uid": uid,
            "growth.dev/node-class": "default",
        }
        marks = {UID: self.uid} if is_marked else {}
        body = {"name": name, "server_type": "cx23", "location": "fsn1", "image": "debian-12"}
        made = self.project.cloud.handle("POST", "/servers", (), {**body, "labels": labels | marks}, TOKEN)
        return made.body["server"]["id"]

    async def machine(self, name, *, is_marked, has="node"):
        """Let the cluster have a server with its Node, with its request, or of nobody."""
        uid = f"{name}-uid"
        if has == "request":
            created = await self.cluster.create(NODE_REQUESTS, bodies.request(name))
            uid = created["metadata"]["uid"]
        id_ = self.make(name, uid, is_marked=is_marked)
        if has == "node":
            body = bodies.node(name, "default", "cx23", "2", "4Gi")
            body["metadata"]["labels"] |= {"growth.dev/request-uid": uid}
            body["spec"] = {"providerID": f"hcloud://{id_}"}
            await self.cluster.create(NODES, body)

    async def removals(self):
        return sorted(item["metadata"]["name"] for item in (await self.cluster.list(NODE_REMOVAL_REQUESTS)).items)

    async def reasons(self):
        return {event["reason"] for event in (await self.cluster.list(EVENTS)).items}


class Project:
    """A Hetzner project that two clusters share."""

    def __init__(self):
        self.at = START
        self.cloud = FakeHetzner(self.now)
        self.cloud.add_token(TOKEN)

    def now(self):
        return self.at

    def elapsed(self):
        return (self.at - START).total_seconds()

    def marks(self):
        return {server.name: server.labels.get(UID) for server in self.cloud.servers_of()}

    async def live(self, *halves, minutes):
        for _ in range(2 * minutes):
            self.at += timedelta(seconds=30)
            for half in halves:
                await half.provider.tend()
                await half.healer.heal()


@pytest.fixture
async def shared():
    project = Project()
    halves = [await Half(project, "uid-a").install(), await Half(project, "uid-b").install()]
    return project, *halves


async def test_servers_of_the_other_are_left_and_own_ones_are_marked(shared):
    project, a, b = shared
    for number in range(MACHINES):
        for half, letter in ((a, "a"), (b, "b")):
            has = "request" if number % 3 == 2 else "node"
            await half.machine(f"{letter}-{number}", is_marked=number % 2 == 0, has=has)
    await project.live(a, b, minutes=60)
    assert await a.removals() == await b.removals() == []
    assert project.marks() == {f"{letter}-{n}": f"uid-{letter}" for letter in "ab" for n in range(MACHINES)}
    assert await a.reasons() == await b.reasons() == {"ClusterNameTaken"}


async def test_each_takes_its_own_orphan_and_leaves_the_others(shared):
    project, a, b = shared
    a.make("a-orphan", "gone", is_marked=True)
    b.make("b-orphan", "gone-too", is_marked=True)
    a.make("unknown", "of-whom", is_marked=False)
    await project.live(a, b, minutes=20)
    assert await a.removals() == ["a-orphan"]
    assert await b.removals() == ["b-orphan"]
    assert "unknown" in project.marks()
    assert "ServersUnproven" in await a.reasons() & await b.reasons()


async def test_an_earlier_version_beside_does_not_lead_this_one_to_delete_its_servers(shared):
    project, a, _ = shared
    earlier = await Half(project, "uid-c", knows_uid=False).install()
    for number in range(MACHINES):
        await a.machine(f"a-{number}", is_marked=True)
        await earlier.machine(f"c-{number}", is_marked=False)
    await project.live(a, minutes=60)
    assert await a.removals() == []
    assert project.marks() == {f"a-{n}": "uid-a" for n in range(MACHINES)} | {f"c-{n}": None for n in range(MACHINES)}


async def test_half_made_servers_of_the_other_are_neither_attached_nor_started(shared):
    project, a, b = shared
    project.cloud.add_network("private", subnets=(("10.0.1.0/24", "eu-central"),))
    for half, name in ((a, "a-1"), (b, "b-1")):
        labels = {"growth.dev/cluster": NAME, UID: half.uid}
        body = {"name": name, "server_type": "cx23", "location": "fsn1", "image": "debian-12", "labels": labels}
        body["start_after_create"] = False
        project.cloud.handle("POST", "/servers", (), body, TOKEN)
    await project.live(a, minutes=3)
    assert {each.name: each.status for each in project.cloud.servers_of()} == {"a-1": "running", "b-1": "off"}
    await project.live(b, minutes=3)
    assert {each.status for each in project.cloud.servers_of()} == {"running"}


async def test_without_uids_the_live_servers_of_the_other_went(shared):
    """What this is about: the fault is there as soon as a worker goes by the name alone."""
    project, a, _ = shared
    blind = await Half(project, "uid-b", knows_uid=False).install()
    await a.machine("a-1", is_marked=True)
    await project.live(blind, minutes=20)
    assert await blind.removals() == ["a-1"]
