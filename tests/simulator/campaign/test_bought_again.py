"""The rule of the campaign about pods that are bought for twice. That it finds faults: `test_mutations.py`."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from activities.ports.cluster import CONFIG_MAPS, NODE_REQUESTS, NODES, PODS
from simulator.apiserver.cluster import MemoryCluster
from simulator.campaign.judging.bought_again import BoughtAgain
from simulator.campaign.judging.recorder import Witness

BEGAN = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
BEHIND_SECONDS = 10


class Scene:
    """A pod `web` that waits, its machine `m` that still starts, and the judge."""

    def __init__(self):
        self.seconds = 0.0
        self.cluster = MemoryCluster(self.now)
        self.witness = Witness(lambda: self.seconds)
        self.judge = BoughtAgain(
            self.cluster,
            self.witness,
            now=self.now,
            stopped=lambda: None,
            back=lambda: None,
            may_leap=lambda: False,
            behind=timedelta(seconds=BEHIND_SECONDS),
        )
        for note in (self.judge.note, self.witness.note):
            self.cluster.observe(note)
        web = self.put("web")
        self.seat = {"namespace": "default", "name": "web", "uid": web["metadata"]["uid"]}
        self.add(CONFIG_MAPS, {"metadata": {"name": "m"}, "data": {"startup": "10m"}}, "growth")
        self.buy("m", phase="Provisioning", joinDeadline=(BEGAN + timedelta(minutes=10)).isoformat())
        self.add(NODES, {"metadata": {"name": "m"}, "spec": {}})

    def now(self):
        return BEGAN + timedelta(seconds=self.seconds)

    def add(self, resource, body, namespace=None):
        return asyncio.run(self.cluster.create(resource, body, namespace=namespace))

    def put(self, name, **spec):
        body = {"metadata": {"name": name}, "spec": {"containers": [], **spec}, "status": {}}
        return self.add(PODS, body, "default")

    def take_off(self, name):
        asyncio.run(self.cluster.delete(PODS, name, namespace="default"))
        self.cluster.finish("default", name)

    def buy(self, name, **status):
        spec = {"pool": "default", "serverType": "small", "reservedFor": [self.seat]}
        self.add(NODE_REQUESTS, {"metadata": {"name": name}, "spec": spec})
        if status:
            change = [{"op": "add", "path": "/status", "value": status}]
            asyncio.run(self.cluster.patch(NODE_REQUESTS, name, change, subresource="status"))

    def bought_again(self):
        self.buy("other")
        return self.judge.violations


def test_a_pod_whose_machine_still_starts_is_bought_for_again():
    assert len(Scene().bought_again()) == 1


def test_its_room_was_taken_by_another_pod():
    scene = Scene()
    scene.put("taker", nodeName="m")
    assert scene.bought_again() == []


@pytest.mark.parametrize(("seconds", "wrong"), [(BEHIND_SECONDS - 1, 0), (BEHIND_SECONDS + 1, 1)])
def test_a_pod_that_took_its_room_is_gone_and_a_worker_may_not_know_yet(seconds, wrong):
    # Seed 493244385: the worker's watch of pods stood still for 5 s.
    scene = Scene()
    scene.put("taker", nodeName="m")
    scene.take_off("taker")
    scene.seconds = seconds
    assert len(scene.bought_again()) == wrong
