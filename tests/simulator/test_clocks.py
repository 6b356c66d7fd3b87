"""A worker's clock that was an hour ahead for a while: what it wrote keeps no record and no machine past its time."""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODES, VOLUME_ATTACHMENTS
from api.keys import ANNOTATION_IDLE_SINCE
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

HOUR = timedelta(hours=1)
SMALL = machine("small", cpu=2, memory=4, price="0.010", boot_time="3s")
TIMES = {"scaleUp": {"recordTTL": "20s"}, "scaleDown": {"idleAfter": "20s", "softGrace": "20s"}}
OBJECTS = (node_class([SMALL]), node_pool("default", [{"name": "small"}], limits={"max": 5}, **TIMES))
IN_TIME = 700.0
"""Seconds: reservation, record, idle time, cool-off and a wait for volumes together take much of it."""


def pods(view):
    return len(view.pods) == 2 and not view.pending()


def marked(sim):
    return [n for n in sim.world.cluster.peek(NODES) if ANNOTATION_IDLE_SINCE in n["metadata"].get("annotations", {})]


async def until_bought(sim):
    await sim.until(lambda v: bool(v.servers), "a server asked for", within=30)


async def until_running(sim):
    await sim.until(pods, "all pods run", within=60)


async def until_released(sim):
    await sim.until(lambda v: pods(v) and not v.taints("growth.dev/reserved"), "no reservation is left", within=120)


async def until_idle(sim):
    await until_running(sim)
    sim.scale("web", 0)
    await sim.until(lambda _: bool(marked(sim)), "an idle machine is marked", within=120)


async def until_cool_off(sim):
    await until_running(sim)
    sim.scale("web", 0)
    await sim.until(lambda v: bool(v.taints("growth.dev/scale-down")), "a cool-off", within=200)


async def until_removed(sim):
    await until_cool_off(sim)
    await sim.until(lambda v: "Deprovisioning" in v.phases().values(), "a deletion", within=200)


async def until_volumes_are_awaited(sim):
    await until_running(sim)
    view = await sim.look()
    for name in view.nodes:
        spec = {"attacher": "csi.example", "nodeName": name, "source": {"persistentVolumeName": f"pv-{name}"}}
        await sim.world.cluster.create(VOLUME_ATTACHMENTS, {"metadata": {"name": f"csi-{name}"}, "spec": spec})
    await until_removed(sim)


MOMENTS = (
    until_bought,
    until_running,
    until_released,
    until_idle,
    until_cool_off,
    until_removed,
    until_volumes_are_awaited,
)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("is_killed", [False, True], ids=["set right", "another worker"])
def test_when_the_clock_is_right_again_records_and_idle_machines_go_in_time(moment, is_killed):
    async def story(sim):
        sim.alive[0].ahead = HOUR
        sim.world.workloads.add(Workload("web", 2, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await moment(sim)
        if is_killed:
            await sim.crash()
            sim.start()
        else:
            sim.alive[0].ahead = timedelta()
        sim.scale("web", 0)
        end = await sim.until(
            lambda v: not (v.servers or v.nodes or v.requests or v.removals), "nothing is left", within=IN_TIME
        )
        assert sim.oracle.judge(end, servers=0) == []

    simulate(21, story, objects=OBJECTS, most_servers=4)
