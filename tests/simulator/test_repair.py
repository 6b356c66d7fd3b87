"""A kubelet that dies in virtual time: its machine goes after its time, and its pods end with it and not before."""

from activities.kube.json_patch import set_field
from activities.ports.cluster import NODES
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.kubelet import DEAD, MANAGED
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

AFTER = 60.0
BOUND = 60.0
"""Seconds until the pod's grace and the machine's cool-off are over, its server is gone and a round has seen it."""


def objects(**scale_down):
    small = machine("small", cpu=2, memory=4, price="0.010", boot_time="10s")
    wish = {"idleAfter": "1h", "softGrace": "5s"} | scale_down
    pool = node_pool("default", [{"name": "small"}], limits={"max": 5}, scaleUp={"recordTTL": "10s"}, scaleDown=wish)
    return node_class([small]), pool


async def set_kubelet(sim, name, value):
    node = await sim.world.cluster.get(NODES, name)
    change = set_field(node, ("metadata", "annotations", MANAGED), value)
    await sim.world.cluster.patch(NODES, name, change)
    sim.world.wake()


async def machines(sim, number):
    sim.world.workloads.add(Workload("web", number, {"cpu": "1500m", "memory": "1Gi"}))
    sim.world.wake()
    view = await sim.until(
        lambda v: len(v.pods) == number and not v.pending() and not v.requests, "machines without a record", within=180
    )
    return sorted(view.servers)


def ending(view):
    return [key for key, pod in view.pods.items() if "deletionTimestamp" in pod["metadata"]]


def test_a_dead_machine_goes_after_its_time():
    async def story(sim):
        first, *_ = await machines(sim, 3)
        await set_kubelet(sim, first, DEAD)
        died = sim.seconds()
        view = await sim.until(lambda v: len(ending(v)) == 1 and not v.pending(), "its pod replaced", within=60)
        assert first in view.servers
        end = await sim.until(
            lambda v: first not in v.servers and first not in v.nodes and not v.removals and not v.requests,
            "the machine gone",
            within=AFTER + BOUND,
        )
        assert sim.seconds() - died >= AFTER
        assert (len(end.servers), ending(end)) == (3, [])

    simulate(31, story, objects=objects(repair={"after": "60s"}))


def test_without_the_field_it_stays():
    async def story(sim):
        first, *_ = await machines(sim, 2)
        await set_kubelet(sim, first, DEAD)
        await sim.until(lambda v: sim.seconds() >= 3000, "a long time", within=3000)
        assert first in (await sim.look()).servers

    simulate(32, story, objects=objects())


def test_one_that_comes_back_in_its_cool_off_stays():
    async def story(sim):
        first, *_ = await machines(sim, 2)
        await set_kubelet(sim, first, DEAD)
        await sim.until(lambda v: v.removal_phase(first) == "Pending", "its cool-off", within=AFTER + BOUND)
        await set_kubelet(sim, first, "fake")
        end = await sim.until(lambda v: not v.removals and not v.taints("growth.dev/scale-down"), "it back", within=60)
        assert first in end.servers

    simulate(33, story, objects=objects(repair={"after": "60s"}, softGrace="20s"))


def test_none_goes_while_most_are_not_ready():
    async def story(sim):
        names = await machines(sim, 3)
        for name in names[:2]:
            await set_kubelet(sim, name, DEAD)
        await sim.until(lambda v: len(ending(v)) == 2, "their pods asked to end", within=60)
        # Others are bought for the pods: then two of five are not most.
        await sim.until(lambda v: len(v.nodes) == 5 and not v.requests, "others", within=180)
        await sim.until(lambda v: not set(names[:2]) & set(v.servers), "both gone", within=2 * (AFTER + BOUND))

    simulate(34, story, objects=objects(repair={"after": "60s"}))


def test_a_pool_that_can_buy_no_other_still_repairs_none_while_most_are_not_ready():
    async def story(sim):
        names = await machines(sim, 5)
        for name in names[:3]:
            await set_kubelet(sim, name, DEAD)
        begun = sim.seconds()
        await sim.until(lambda v: sim.seconds() >= begun + 600, "ten minutes", within=700)
        view = await sim.look()
        assert (set(names) <= set(view.servers), view.removals) == (True, {})
        await set_kubelet(sim, names[0], "fake")
        await sim.until(lambda v: not set(names[1:3]) & set(v.servers), "both gone", within=2 * (AFTER + BOUND))
        assert names[0] in (await sim.look()).servers

    simulate(35, story, objects=objects(repair={"after": "60s"}))
