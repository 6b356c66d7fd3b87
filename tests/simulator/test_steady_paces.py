"""While the same pods run, a pool that grows and shrinks by its use does nothing: no trigger undoes what another did.

Source: docs/growth.md, docs/shrinking.md; atlassian/escalator, "Scale lock"; its issue 59 on groups that swing.
"""

import asyncio

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, Resource
from simulator.apiserver.history import Change
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation, simulate
from tests.builders import Json
from tests.tables import rows

SMALL = machine("small", cpu=2, memory=4, price="0.010", boot_time="20s")
LARGE = machine("large", cpu=4, memory=8, price="0.019", boot_time="20s")
DAY = 24 * 3600
SETTLES = 2 * 3600
THRESHOLD = {"estimators": ["binPack", "threshold"], "thresholdPercent": 70, "recordTTL": "5s"}
LOCK = {"lock": {"min": "2m", "max": "10m"}, "cooldown": "1m", "batchMax": 2, "maxInFlight": 2, "podGrace": "5s"}
GROUP = {"group": {"lowerPercent": 20, "upperPercent": 60, "slow": 1, "fast": 3, "every": "1m"}}
NODE = {"node": {"cpuPercent": 50, "memoryPercent": 50, "window": "5m"}}
TIMES = {"idleAfter": "30s", "softGrace": "10s", "cooldownAfterScaleUp": "5m", "cooldownAfterScaleDown": "1m"}


def steady(scale_up: Json, scale_down: Json, *, replicas: int, cpu: str, days: float) -> list[str]:
    """Return what was asked for, and of what, from when all had settled until so many days later."""
    pool = node_pool(
        "default",
        [{"name": "small"}, {"name": "large"}],
        limits={"min": 1, "max": 30},
        scaleUp=scale_up,
        scaleDown=TIMES | scale_down,
    )
    asked: list[str] = []

    async def story(sim: Simulation) -> None:
        # More at first, of which half leaves: what is there then is not what would be bought.
        sim.world.workloads.add(Workload("web", 2 * replicas, {"cpu": cpu, "memory": "512Mi"}))
        sim.world.wake()
        await sim.until(lambda v: len(v.pods) == 2 * replicas and not v.pending(), "all run", within=3600)
        sim.scale("web", replicas)
        await asyncio.sleep(SETTLES)
        names = {
            item["metadata"]["uid"]
            for kind in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
            for item in sim.world.cluster.peek(kind)
        }

        def note(resource: Resource, change: Change) -> None:
            made = change.before is None and resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
            if made and change.now["metadata"]["uid"] not in names:
                asked.append(f"{resource.kind} {change.now['metadata']['name']} {change.now['spec'].get('reason', '')}")

        sim.world.cluster.observe(note)
        await asyncio.sleep(days * DAY)
        assert not (await sim.look()).pending()

    simulate(replicas, story, objects=(node_class([SMALL, LARGE]), pool))
    return asked


PACES = rows(
    ("scale_up", "scale_down"),
    {
        "threshold and group": (THRESHOLD, {"mode": "drain"} | GROUP),
        "threshold, lock and machines": (THRESHOLD | LOCK, {"mode": "drain"} | NODE),
        "all, and only waited for": (THRESHOLD | LOCK, {"mode": "wait", "hardGrace": "1h"} | GROUP | NODE),
    },
)


@PACES
@pytest.mark.parametrize(("replicas", "cpu"), [(7, "700m"), (12, "300m")])
def test_half_a_day_of_steady_load_ends_in_no_action(scale_up: Json, scale_down: Json, replicas: int, cpu: str):
    assert steady(scale_up, scale_down, replicas=replicas, cpu=cpu, days=0.5) == []


@pytest.mark.nightly
@PACES
@pytest.mark.parametrize(("replicas", "cpu"), [(3, "1500m"), (9, "900m"), (20, "450m"), (31, "200m")])
def test_a_week_of_steady_load_ends_in_no_action(scale_up: Json, scale_down: Json, replicas: int, cpu: str):
    assert steady(scale_up, scale_down, replicas=replicas, cpu=cpu, days=7) == []
