"""The rules of the campaign about drains. That they find faults in the code: `test_mutations.py`."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODES, PODS
from api.keys import ANNOTATION_DO_NOT_REMOVE, TAINT_SCALE_DOWN
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.history import Change
from simulator.campaign.judging.pod_departures import Leaving
from simulator.campaign.judging.recorder import Witness

BEGAN = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "r", "controller": True}]}
KEPT = {**OWNED, "annotations": {ANNOTATION_DO_NOT_REMOVE: "ann"}}


class Scene:
    """A machine that is drained since `BEGAN`, with pods on it, and its judge."""

    def __init__(self, *, hard_grace=None, losses=False, **status):
        self.seconds = 0.0
        self.cluster = MemoryCluster(self.now)
        self.witness = Witness(lambda: self.seconds)
        self.leaving = Leaving(
            self.cluster,
            self.witness,
            tell=lambda _: None,
            now=self.now,
            may_leap=lambda: False,
            has_losses=losses,
        )
        for note in (self.leaving.note, self.witness.note):
            self.cluster.observe(note)
        pool = {"metadata": {"name": "default"}, "spec": {"serverTypes": [], "scaleDown": {"mode": "drain"}}}
        if hard_grace is not None:
            pool["spec"]["scaleDown"]["hardGrace"] = hard_grace
        self.add(NODE_POOLS, pool)
        self.add(NODES, {"metadata": {"name": "m"}, "spec": {"taints": [{"key": TAINT_SCALE_DOWN}]}})
        removal = {"metadata": {"name": "m"}, "spec": {"serverName": "m", "pool": "default", "reason": "ByHand"}}
        self.add(NODE_REMOVAL_REQUESTS, removal)
        self.write({"phase": "Draining", "drainStartedAt": BEGAN.isoformat(), **status})

    def now(self):
        return BEGAN + timedelta(seconds=self.seconds)

    def add(self, resource, body, namespace=None):
        asyncio.run(self.cluster.create(resource, body, namespace=namespace))

    def write(self, status):
        change = [{"op": "add", "path": "/status", "value": status}]
        asyncio.run(self.cluster.patch(NODE_REMOVAL_REQUESTS, "m", change, subresource="status"))

    def put(self, name, **metadata):
        self.add(PODS, {"metadata": {"name": name, **metadata}, "spec": {"nodeName": "m", "containers": []}}, "default")

    def judged(self, verb="evict", name="a"):
        self.leaving.judge(verb, "default", name)
        return self.leaving.violations


def test_an_eviction_in_a_drain_is_right():
    scene = Scene()
    scene.put("a", **OWNED)
    assert scene.judged() == []
    assert scene.witness.counts["pods asked to leave: evict"] == 1


@pytest.mark.parametrize(("since", "losses", "is_wrong"), [(0.5, False, False), (2, False, True), (2, True, False)])
@pytest.mark.parametrize("metadata", [KEPT, {}], ids=["kept", "bare"])
def test_no_pod_is_evicted_while_one_must_stay_that_the_worker_may_know_of(metadata, since, losses, is_wrong):
    scene = Scene(losses=losses)
    scene.put("a", **OWNED)
    scene.put("b", **metadata)
    scene.seconds = since
    wrong = ["pod a shall leave m before its time is over, and b must stay"] if is_wrong else []
    assert scene.judged() == wrong


def test_a_pod_that_may_go_again_keeps_nobody():
    scene = Scene()
    scene.put("a", **KEPT)
    asyncio.run(
        scene.cluster.patch(PODS, "a", [{"op": "remove", "path": "/metadata/annotations"}], namespace="default")
    )
    scene.seconds = 100
    assert scene.judged() == []


@pytest.mark.parametrize(("seconds", "is_wrong"), [(40, True), (46, False)])
def test_pods_are_deleted_only_after_hard_grace_and_then_whatever_keeps_them(seconds, is_wrong):
    scene = Scene(hard_grace="45s")
    scene.put("a", **KEPT)
    scene.seconds = seconds
    assert bool(scene.judged("delete")) is is_wrong
    assert not is_wrong or "is deleted before its time is over" in scene.leaving.violations[0]


def test_nobody_leaves_for_a_removal_that_was_taken_back():
    scene = Scene(cancel={"by": "ann"})
    scene.put("a", **OWNED)
    assert scene.judged() == []
    scene.seconds = 2
    assert scene.judged() == ["pod a shall leave m, whose removal was cancelled"]


def test_nobody_leaves_before_the_drain():
    scene = Scene()
    scene.write({"phase": "Pending"})
    scene.put("a", **OWNED)
    assert scene.judged() == ["pod a shall leave m, whose removal is Pending"]


def test_nobody_leaves_without_a_removal():
    scene = Scene()
    scene.put("a", **OWNED)
    untainted = [{"op": "remove", "path": "/spec/taints"}]
    asyncio.run(scene.cluster.patch(NODES, "m", untainted))
    asyncio.run(scene.cluster.delete(NODE_REMOVAL_REQUESTS, "m"))
    assert scene.judged() == []
    scene.seconds = 2
    assert scene.judged() == ["pod a shall leave m, which has no removal"]


def test_a_drain_that_is_taken_back_leaves_no_taint():
    scene = Scene()
    asyncio.run(scene.cluster.delete(NODE_REMOVAL_REQUESTS, "m"))
    assert scene.leaving.violations == ["removal m was taken back, and m keeps its taint"]


def test_hard_grace_of_a_pool_that_is_gone_counts_for_a_moment_only():
    scene = Scene(hard_grace="10s")
    (pool,) = scene.cluster.peek(NODE_POOLS)
    scene.seconds = 60
    scene.leaving.note(NODE_POOLS, Change(0, "DELETED", pool, pool))
    (removal,) = scene.cluster.peek(NODE_REMOVAL_REQUESTS)
    assert scene.leaving.may_be_forced(removal)
    scene.seconds = 120
    assert not scene.leaving.may_be_forced(removal)
