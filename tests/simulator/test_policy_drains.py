"""Drains that rounds order, in virtual time: pods that never end, budgets and webhooks that refuse; and remove-now."""

import asyncio

from activities.kube.json_patch import set_field
from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_REMOVAL_REQUESTS, NODES
from api.keys import TAINT_REMOVE_NOW, TAINT_SCALE_DOWN
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.kubelet import DEAD, MANAGED
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

PAUSE = "growth.dev/drain-pause"


def objects(**scale_down):
    small = machine("small", cpu=2, memory=4, price="0.010", boot_time="10s")
    wish = {"mode": "drain", "idleAfter": "1h", "softGrace": "5s"} | scale_down
    pool = node_pool("default", [{"name": "small"}], limits={"max": 5}, scaleUp={"recordTTL": "10s"}, scaleDown=wish)
    return node_class([small]), pool


async def machines(sim, number):
    sim.world.workloads.add(Workload("web", number, {"cpu": "1500m", "memory": "1Gi"}))
    sim.world.wake()
    view = await sim.until(
        lambda v: len(v.pods) == number and not v.pending() and not v.requests, "machines without a record", within=180
    )
    return sorted(view.servers)


async def order(sim, name, reason="Consolidation"):
    """Order the removal of a machine as a round does."""
    node = await sim.world.cluster.get(NODES, name)
    labels = node["metadata"]["labels"]
    spec = {
        "serverName": name,
        "nodeName": name,
        "pool": "default",
        "serverType": "small",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reason": reason,
    }
    body = {
        "metadata": {
            "name": name,
            "finalizers": ["growth.dev/lifecycle"],
            "labels": {"growth.dev/request-uid": labels["growth.dev/request-uid"]},
        },
        "spec": spec,
    }
    await sim.world.cluster.create(NODE_REMOVAL_REQUESTS, body)
    return sim.seconds()


async def annotate(sim, name, key, value):
    node = await sim.world.cluster.get(NODES, name)
    await sim.world.cluster.patch(NODES, name, set_field(node, ("metadata", "annotations", key), value))
    sim.world.wake()


async def protect(sim):
    spec = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    await sim.world.cluster.create(DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": spec}, namespace="default")


async def given_up(sim, name, *, after, within=60.0):
    """Wait for the end of the removal of a machine that stays, and return its pause."""
    view = await sim.until(lambda v: not v.removals, "the drain given up", within=after + within)
    assert name in view.servers
    assert view.taints(TAINT_SCALE_DOWN) == []
    return (await sim.world.cluster.get(NODES, name))["metadata"]["annotations"][PAUSE]


def test_a_budget_that_never_allows_it_ends_the_drain_and_each_pause_is_twice_as_long():
    async def story(sim):
        first, *_ = await machines(sim, 2)
        await protect(sim)
        lengths = []
        for _ in range(3):
            begun = await order(sim, first)
            lengths.append((await given_up(sim, first, after=600)).split()[1])
            assert 600 <= sim.seconds() - begun <= 660
            await asyncio.sleep(5)
        assert lengths == ["15m", "30m", "1h"]
        assert not (await sim.look()).pending()

    simulate(41, story, objects=objects(drainTimeout="10m"))


def test_a_pod_that_never_ends_ends_the_drain():
    async def story(sim):
        first, *_ = await machines(sim, 3)
        await annotate(sim, first, MANAGED, DEAD)
        begun = await order(sim, first, "Rotation")
        await given_up(sim, first, after=900)
        assert sim.seconds() - begun >= 900

    simulate(42, story, objects=objects())


def test_a_webhook_that_refuses_evictions_ends_the_drain_and_later_it_goes():
    async def story(sim):
        first, *_ = await machines(sim, 2)
        sim.world.refuse_pod_writes(1000)
        await order(sim, first, "Drift")
        await given_up(sim, first, after=900)
        await asyncio.sleep(100)
        await order(sim, first, "Drift")
        await sim.until(lambda v: first not in v.servers and not v.removals, "the machine gone", within=120)
        await sim.until(lambda v: not v.pending(), "its pod elsewhere", within=120)

    simulate(43, story, objects=objects())


def test_its_pods_are_forced_to_their_end_in_time():
    async def story(sim):
        first, *_ = await machines(sim, 2)
        await protect(sim)
        begun = await order(sim, first)
        await sim.until(lambda v: first not in v.servers, "the machine gone", within=240)
        # Its pod asks for 30 s: it was deleted after 90 s, and not before.
        assert 95 <= sim.seconds() - begun <= 180
        await sim.until(lambda v: not v.pending() and not v.removals, "its pod elsewhere", within=120)

    simulate(44, story, objects=objects(terminationGracePeriod="2m"))


def test_a_machine_that_is_to_go_now_goes_when_it_is_empty_and_not_before():
    async def story(sim):
        first, second = await machines(sim, 2)
        node = await sim.world.cluster.get(NODES, first)
        taints = [{"key": TAINT_REMOVE_NOW, "value": "", "effect": "NoSchedule"}]
        await sim.world.cluster.patch(NODES, first, set_field(node, ("spec", "taints"), taints))
        await asyncio.sleep(120)
        assert first in (await sim.look()).servers
        begun = sim.seconds()
        sim.scale("web", 0)
        end = await sim.until(lambda v: first not in v.servers and not v.removals, "the machine gone", within=60)
        # Without a cool-off: what a scheduler may still bind has 5 s, balancers have 10 s.
        assert sim.seconds() - begun <= 30
        assert second in end.servers

    simulate(45, story, objects=objects(mode="none", softGrace="10m"))
