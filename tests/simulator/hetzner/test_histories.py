"""Random histories with Hetzner's servers and faults of every kind; `make simulate` plays many, here is a sample."""

import hashlib
import os
import subprocess
import sys

import pytest

from activities.ports.cluster import NODES
from activities.ports.ports import in_place
from activities.providers.built_in import HETZNER_NODE_CLASSES
from simulator.campaign.campaign import ALL_MUTATIONS, Tally, catch, judge
from simulator.campaign.hetzner.mutations import HETZNER_MUTATIONS
from simulator.campaign.hetzner.provider_side import HetznerSide
from simulator.campaign.hetzner.setup import class_objects
from simulator.campaign.history import play
from simulator.campaign.mutations.planting import planted
from simulator.clock import VirtualClock
from simulator.hetzner.project.state import Durations
from simulator.hetzner.world import TOKEN, HetznerWorld, Terms
from simulator.world import CLUSTER_NAME
from tests.searching import blocks

QUICKEST = min(HETZNER_MUTATIONS, key=lambda mutation: mutation.within)


@pytest.mark.parametrize("seeds", blocks(range(6), 3))
def test_whatever_happens_no_server_is_lost_and_none_comes_twice(seeds):
    tally = Tally()
    for seed in seeds:
        tally.add(judge(seed, "hetzner"))
    wrong = {verdict.seed: verdict.wrong for verdict in tally.failed}
    assert wrong == {}, f"repeat one: python -m simulator.campaign --provider hetzner --seeds 1 --first {min(wrong)}"
    assert tally.counts["servers bought"] >= len(seeds)
    assert tally.counts["call: create_server"] >= tally.counts["servers bought"]
    # The whole life of a machine: design, "Calls" of docs/hetzner.md, and as much again for faults.
    assert tally.calls_per_server() < 30


def test_the_history_of_a_seed_is_the_same_in_every_process():
    program = "import test_histories as t; print(t.digest(3))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hashing, "PYTHONPATH": ".:tests/simulator/hetzner"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hashing in ("1", "2")
    }
    assert found == {digest(3)}


def digest(seed):
    return hashlib.sha256("\n".join(play(seed, "hetzner").log).encode()).hexdigest()


def test_a_fault_planted_in_the_provider_is_found():
    caught = catch(QUICKEST)
    assert caught.violation, f"{caught.seeds} histories in which {QUICKEST.name} went right"


def test_every_fault_is_planted_in_the_command_and_taken_back():
    assert len(HETZNER_MUTATIONS) >= 6
    assert set(HETZNER_MUTATIONS) < set(ALL_MUTATIONS)
    assert len({mutation.name for mutation in ALL_MUTATIONS}) == len(ALL_MUTATIONS)
    for mutation in HETZNER_MUTATIONS:
        places = [(owner, name) for owner, name, _ in mutation.changes()]
        before = [getattr(owner, name) for owner, name in places]
        with planted(mutation):
            assert [getattr(owner, name) for owner, name in places] != before
        assert [getattr(owner, name) for owner, name in places] == before


class Scene:
    """A world whose clock a test moves, and people's view of its project."""

    def __init__(self):
        self.clock = VirtualClock()
        self.world = HetznerWorld(now=self.clock.now, seed=1, terms=Terms(Durations(create_seconds=1.0)))
        self.side = HetznerSide(self.world)
        self.told = []
        self.side.observe(lambda _resource, change: self.told.append((change.kind, change.now["data"]["status"])))

    async def open(self, **spec):
        await self.world.apply(*class_objects(spec))
        return self

    def call(self, method, path, body=None):
        return self.world.cloud.handle(method, path, (), body, TOKEN)

    def create(self, **body):
        order = {"name": "a", "server_type": "cx23", "location": "fsn1", "image": "debian-12"}
        labels = {"growth.dev/cluster": CLUSTER_NAME}
        return self.call("POST", "/servers", {**order, "labels": labels, **body}).body["server"]["id"]


async def test_every_change_of_a_server_is_told_within_the_call_or_the_moment_that_makes_it():
    scene = await Scene().open()
    server = scene.create()
    assert scene.told == [("ADDED", "initializing")]
    scene.clock.advance(1.5)
    await scene.world.step()
    assert scene.told[1:] == [("MODIFIED", "starting")]
    scene.clock.advance(2)
    await scene.world.step()
    assert scene.told[2:] == [("MODIFIED", "running")]
    scene.call("DELETE", f"/servers/{server}")
    assert scene.told[3:] == [("MODIFIED", "deleting")]
    scene.clock.advance(6)
    await scene.world.step()
    assert scene.told[4:] == [("DELETED", "deleting")]
    assert scene.side.wrong() == []


async def test_a_token_in_an_object_is_wrong():
    scene = await Scene().open()
    told = {"op": "add", "path": "/status", "value": {"currency": f"half: {TOKEN[:32]}"}}
    await scene.world.cluster.patch(HETZNER_NODE_CLASSES, "default", [told], subresource="status")
    assert scene.side.wrong() == ["HetznerNodeClass default tells the token"]


async def test_a_server_unlike_its_class_is_wrong():
    scene = await Scene().open(enableIPv4=False, placement={"strategy": "spread", "required": True})
    scene.create()
    assert scene.side.wrong() == ["server a has an IPv4 address: True", "server a is in no placement group"]


async def test_a_server_that_runs_without_the_network_of_its_class_is_wrong():
    scene = await Scene().open(networks=[{"name": "inside"}])
    scene.create()
    assert scene.side.wrong() == []
    scene.clock.advance(10)
    await scene.world.step()
    assert set(scene.side.wrong()) == {"server a runs without its network"}


async def test_a_worker_that_calls_more_often_than_its_budget_allows_is_wrong():
    scene = await Scene().open()
    ports = scene.world.ports(scene.world.cluster, None, call=in_place)
    assert list(ports.providers) == [HETZNER_NODE_CLASSES.kind]
    (line,) = scene.world.lines
    line.calls = 61
    assert scene.side.wrong() == []
    line.calls = 62
    assert scene.side.wrong() == ["worker 1 made 62 calls in 0 s"]


async def test_servers_and_nodes_of_others_are_planted_and_never_join():
    scene = await Scene().open()
    await scene.side.plant("theirs")
    await scene.side.plant_node()
    scene.clock.advance(60)
    await scene.world.step()
    assert await scene.world.servers() == []
    assert scene.side.foreign == {"theirs"}
    nodes = scene.world.cluster.peek(NODES)
    assert [(node["metadata"]["name"], node["spec"]["providerID"]) for node in nodes] == [("robot-0", "hrobot://321")]
