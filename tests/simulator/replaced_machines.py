"""Small machines with a pod each, who replaces them, and who judges that no pod leaves too early."""

import pytest

from activities.ports.cluster import NODES
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from tests.simulator.replacing import Replacing

BOOT = 20
"""Seconds that a large machine takes; its Node joins a moment later."""
WITHIN = 150.0
"""Seconds until it has come, pods have moved one machine after the other, and both servers are gone."""


def objects(*, boot=BOOT, large=None, scale_up=None, **scale_down):
    machines = [
        machine("small", cpu=2, memory=4, price="0.010", boot_time="5s"),
        machine("large", cpu=4, memory=8, price="0.015", boot_time=f"{boot}s") | (large or {}),
    ]
    wish = {"mode": "drain", "idleAfter": "10m", "softGrace": "30s"} | scale_down
    types = [{"name": "small"}, {"name": "large"}]
    durations = {"recordTTL": "10s", "provisioningTimeout": "2m", "joinTimeout": "2m"} | (scale_up or {})
    return node_class(machines), node_pool("default", types, limits={"max": 9}, scaleUp=durations, scaleDown=wish)


class Evictions:
    """Sees each pod that is let go, and judges whether what is to take it is there."""

    def __init__(self, sim, sources):
        self.sim, self.sources, self.early, self.seen = sim, sources, [], []
        sim.pod_ends = self.note

    def note(self, verb, namespace, name):
        cluster = self.sim.world.cluster
        self.seen.append(name)
        ready = [
            node["metadata"]["name"]
            for node in cluster.peek(NODES)
            if node["metadata"]["name"] not in self.sources
            and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        ]
        if not ready:
            self.early.append((verb, namespace, name))


async def machines(sim, number, cpu="1500m"):
    """Return so many small machines, each with one pod; their records are gone, and no worker is alive."""
    for n in range(number):
        sim.world.workloads.add(Workload(f"w{n}", 1, {"cpu": cpu, "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(
            lambda v, n=n: len(v.pods) == n + 1 and not v.pending() and not v.requests, f"machine {n}", within=90
        )
    await sim.crash()
    view = await sim.look()
    return tuple(sorted(view.servers))


def begin(sim, sources, health=None, **how):
    """Start a worker whose rounds replace the machines, and return what plans and what judges."""
    replacing = Replacing(sim, sources, **how)
    sim.equip = replacing.equip
    judge = Evictions(sim, sources)
    return replacing, judge, sim.start(health)


def at_rest(sources):
    """Whether only what was to come is there, and nothing is under way."""
    return lambda v: not (set(sources) & set(v.servers)) and not (v.removals or v.requests or v.pending())


def purchases(sim):
    return [
        line.split(" ")[-2].removeprefix("server/").rstrip(":")
        for line in sim.log
        if "server/" in line and line.endswith("exists")
    ]


def writes(last):
    """Return the numbers of writes at which a worker dies: those of the round, and then each fifth; at night, all."""
    return [pytest.param(n, marks=() if n <= 5 or n % 5 == 0 else pytest.mark.nightly) for n in range(1, last + 1)]


def is_clean(view):
    return not view.taints("growth.dev/scale-down") and not view.taints("growth.dev/reserved")


async def sleep(sim, seconds):
    started = sim.seconds()
    await sim.until(lambda _: sim.seconds() >= started + seconds, f"{seconds} s", within=seconds + 1)
