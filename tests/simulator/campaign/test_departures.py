"""The rules of the campaign about machines that policies empty. That faults are found: `test_mutations.py`."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import SimpleNamespace

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, PODS
from api.keys import (
    ANNOTATION_CANCELLED_AT,
    LABEL_POOL,
    LABEL_REQUEST,
    LABEL_STEP,
    OTHERS_SCALE_DOWN_DISABLED,
    TAINT_REMOVE_NOW,
)
from simulator.apiserver.cluster import MemoryCluster
from simulator.campaign.judging.departures.departures import DepartureRules
from simulator.campaign.judging.pool_sizes import PoolSizes
from simulator.campaign.judging.recorder import Witness
from simulator.campaign.policies import BAD, with_policies
from simulator.campaign.setup import draw
from simulator.clock import START

OWNED = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "r", "controller": True}]}
READY = {"type": "Ready", "status": "True"}
SETUP = replace(draw(Random(1), Random(1)), losses=0.0, stalls=0.0, has_policies=True)


class Scene:
    """Two machines of a pool, the first with a pod, long known to all, and the judge of what goes."""

    def __init__(self, *, rotation=None, template=None, limit=8, **scale_down):
        self.seconds = 0.0
        self.cluster = MemoryCluster(self.now)
        self.witness = Witness(lambda: self.seconds)
        sizes = PoolSizes(self.cluster, lambda: self.seconds)
        sim = SimpleNamespace(
            world=SimpleNamespace(cluster=self.cluster, api_back_at=None),
            seconds=lambda: self.seconds,
            now=self.now,
            alive=[SimpleNamespace(ahead=timedelta(), number=1)],
        )
        self.rules = DepartureRules(sim, SETUP, self.witness, sizes, tell=lambda _: None)
        for note in (
            lambda resource, _: sizes.note() if resource == NODES else None,
            self.rules.note,
            self.witness.note,
        ):
            self.cluster.observe(note)
        spec = {
            "serverTypes": [{"name": "small"}],
            "limits": {"max": limit},
            "scaleUp": {"provisioningTimeout": "30s", "joinTimeout": "30s"},
            "scaleDown": {"mode": "drain", **scale_down},
        }
        self.add(
            NODE_POOLS, {"metadata": {"name": "default"}, "spec": spec | ({"rotation": rotation} if rotation else {})}
        )
        for name in ("m", "n"):
            self.add(NODES, {"metadata": {"name": name, "labels": {LABEL_POOL: "default"}}, "spec": {}})
        self.add(
            PODS,
            {"metadata": {"name": "a", "labels": {"app": "web"}, **OWNED}, "spec": {"nodeName": "m", "containers": []}},
        )
        self.status(PODS, "a", {"phase": "Running", "conditions": [READY]}, "default")
        self.later(20)

    def now(self):
        return START + timedelta(seconds=self.seconds)

    def later(self, seconds):
        self.seconds += seconds

    def add(self, resource, body):
        asyncio.run(self.cluster.create(resource, body, namespace="default" if resource.namespaced else None))

    def status(self, resource, name, status, namespace=None):
        change = [{"op": "add", "path": "/status", "value": status}]
        asyncio.run(self.cluster.patch(resource, name, change, namespace=namespace, subresource="status"))

    def patch(self, resource, name, path, value):
        asyncio.run(self.cluster.patch(resource, name, [{"op": "add", "path": path, "value": value}]))

    def goes(self, name, reason, *, step=None, **spec):
        labels = {LABEL_REQUEST: name} | ({LABEL_STEP: step} if step else {})
        body = {"serverName": name, "nodeName": name, "pool": "default", "reason": reason, **spec}
        self.add(NODE_REMOVAL_REQUESTS, {"metadata": {"name": name, "labels": labels}, "spec": body})
        return self.rules.violations


def word(scene):
    scene.patch(NODES, "m", "/metadata/annotations", {OTHERS_SCALE_DOWN_DISABLED: "true"})


def cancel(scene):
    scene.patch(NODES, "m", "/metadata/annotations", {ANNOTATION_CANCELLED_AT: f"{scene.now():%Y-%m-%dT%H:%M:%SZ}"})


def budget(scene):
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    scene.add(DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": spec})


def purchase(scene):
    scene.add(NODE_REQUESTS, {"metadata": {"name": "r"}, "spec": {"pool": "default", "serverType": "small"}})


def cordon(scene):
    scene.patch(NODES, "m", "/spec/unschedulable", True)


def bare(scene):
    scene.add(PODS, {"metadata": {"name": "b"}, "spec": {"nodeName": "m", "containers": []}})


@pytest.mark.parametrize("keep", [word, cancel, budget, purchase, cordon, bare])
def test_nothing_that_is_kept_is_emptied(keep):
    scene = Scene()
    keep(scene)
    scene.later(10)
    wrong = scene.goes("m", "Consolidation")
    assert len(wrong) == 1
    assert wrong[0].startswith("m shall be emptied (Consolidation), and ")


@pytest.mark.parametrize("keep", [word, budget, purchase, cordon, bare])
def test_what_has_just_come_to_keep_it_may_not_be_known_yet(keep):
    scene = Scene()
    keep(scene)
    scene.later(1)
    assert scene.goes("m", "Consolidation") == []


def test_a_machine_that_nothing_keeps_may_be_emptied():
    assert Scene().goes("m", "Consolidation") == []


def test_a_machine_is_emptied_only_where_its_pool_says_so():
    assert Scene(mode="empty").goes("m", "Consolidation") == [
        "m shall be emptied (Consolidation), and its pool says empty"
    ]


@pytest.mark.parametrize(
    ("budgets", "reasons", "is_wrong"),
    [
        ([], ("Consolidation", "Consolidation"), True),
        ([], ("Empty", "Empty"), False),
        ([], ("Empty", "Consolidation"), False),
        ([{"nodes": 2}], ("Consolidation", "Drift"), False),
        ([{"nodes": "50%"}], ("Consolidation", "Drift"), True),
        ([{"nodes": 2}, {"nodes": 1, "reasons": ["Empty"]}], ("Empty", "Empty"), True),
        ([{"nodes": 2, "start": "00:00", "end": "00:05"}], ("Consolidation", "Consolidation"), False),
        ([{"nodes": 2, "start": "00:05", "end": "00:09"}], ("Consolidation", "Consolidation"), True),
        ([{"nodes": 1}], ("Consolidation", "ByHand"), False),
    ],
)
def test_no_more_machines_go_at_once_than_budgets_let(budgets, reasons, is_wrong):
    scene = Scene(budgets=budgets)
    asyncio.run(scene.cluster.delete(PODS, "a", namespace="default"))
    first, second = reasons
    assert scene.goes("m", first) == []
    assert (
        bool(
            [
                wrong
                for wrong in scene.goes(
                    "n",
                    second,
                )
                if "go already" in wrong
            ]
        )
        is is_wrong
    )


@pytest.mark.parametrize("is_ready", [False, True])
def test_no_pod_leaves_before_the_machine_that_was_bought_for_it_is_ready(is_ready):
    scene = Scene()
    scene.goes("m", "Consolidation", replacedBy=["new"])
    if is_ready:
        scene.add(NODES, {"metadata": {"name": "new"}, "spec": {}})
        scene.status(NODES, "new", {"conditions": [READY]})
    scene.rules.judge("evict", "default", "a")
    assert scene.rules.violations == ([] if is_ready else ["pod a shall leave (evict) for new, which is not Ready"])


@pytest.mark.parametrize("named", [[], ["new"]])
def test_a_step_waits_for_all_that_was_bought_for_it(named):
    scene = Scene()
    spec = {"pool": "default", "serverType": "small"}
    scene.add(NODE_REQUESTS, {"metadata": {"name": "new", "labels": {LABEL_STEP: "s.1"}}, "spec": spec})
    scene.goes("m", "Consolidation", step="s.1", replacedBy=named)
    scene.status(NODE_REMOVAL_REQUESTS, "m", {"phase": "Draining"})
    wrong = ["new was bought for the step of m, and no removal of it waits for that"]
    assert scene.rules.violations == ([] if named else wrong)


@pytest.mark.parametrize(("age", "is_wrong"), [("2m", True), ("20s", False)])
def test_only_old_machines_are_rotated(age, is_wrong):
    assert Scene(rotation={"maxNodeAge": age}).goes("m", "Rotation") == (
        ["m shall go (Rotation), and it is 21 s old"] if is_wrong else []
    )


@pytest.mark.parametrize("edited", [False, True])
def test_only_what_was_edited_has_drifted(edited):
    scene = Scene()
    scene.add(NODE_REQUESTS, {"metadata": {"name": "m"}, "spec": {"pool": "default", "serverType": "small"}})
    scene.status(NODE_REQUESTS, "m", {"phase": "Ready"})
    scene.later(20)
    if edited:
        scene.patch(NODE_POOLS, "default", "/spec/template", {"labels": {"edit": "1"}})
    assert len(scene.goes("m", "Drift")) == (0 if edited else 1)


@pytest.mark.parametrize(("lasts", "is_wrong"), [(None, True), (2, True), (30, False)])
def test_only_what_fails_for_long_enough_is_repaired(lasts, is_wrong):
    scene = Scene(repair={"conditions": [{"type": BAD, "status": "True", "after": "10s"}]})
    if lasts is not None:
        since = f"{scene.now():%Y-%m-%dT%H:%M:%SZ}"
        scene.status(NODES, "m", {"conditions": [{"type": BAD, "status": "True", "lastTransitionTime": since}]})
        scene.later(lasts)
    assert bool(scene.goes("m", "Repair")) is is_wrong


@pytest.mark.parametrize("is_tainted", [False, True])
def test_only_what_is_empty_and_tainted_goes_now(is_tainted):
    scene = Scene()
    if is_tainted:
        for name in ("m", "n"):
            scene.patch(NODES, name, "/spec/taints", [{"key": TAINT_REMOVE_NOW, "effect": "NoSchedule"}])
    assert len(scene.goes("n", "RemoveNow")) == (0 if is_tainted else 1)
    assert len(scene.goes("m", "RemoveNow")) == (1 if is_tainted else 2)


def test_a_drain_that_lasts_longer_than_its_pool_says_is_told():
    scene = Scene(drainTimeout="30s")
    scene.goes("m", "Consolidation")
    scene.status(NODE_REMOVAL_REQUESTS, "m", {"phase": "Draining"})
    scene.rules.look()
    scene.later(100)
    scene.rules.look()
    assert scene.rules.violations == []
    scene.later(25)
    scene.rules.look()
    assert scene.rules.violations == ["removal m has been Draining for 125 s"]


def test_a_share_of_histories_moves_pods_and_the_others_stay_as_they_are():
    drawn = draw(Random(2), Random("drains of 2"))
    made = [with_policies(drawn, Random(f"policies of {seed}")) for seed in range(100)]
    moving = [each for each in made if each.has_policies]
    assert 25 <= len(moving) <= 45
    assert all(each is drawn for each in made if not each.has_policies)
    downs = [pool["spec"]["scaleDown"] for each in moving for pool in each.pools.values()]
    fields = ("consolidate", "budgets", "drainTimeout", "terminationGracePeriod", "emptyDir", "repair")
    assert all(any(field in down for down in downs) for field in fields)
    assert any("rotation" in pool["spec"] for each in moving for pool in each.pools.values())
