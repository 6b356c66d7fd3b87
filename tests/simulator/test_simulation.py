import asyncio
import hashlib
import os
import subprocess
import sys
from random import Random

import pytest

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate

SECONDS = {
    "scaleUp": {"provisioningTimeout": "60s", "joinTimeout": "60s", "recordTTL": "30s"},
    "scaleDown": {"idleAfter": "5s", "softGrace": "5s"},
}
OBJECTS = [
    node_class(
        [machine("small", cpu=2, memory=4, price="0.010"), machine("big", cpu=8, memory=16, price="0.030")],
        faults=[{"call": "create", "error": "transient", "lostReply": True, "times": 1}],
    ),
    node_pool("default", [{"name": "small"}, {"name": "big"}], limits={"max": 20}, **SECONDS),
]


async def busy_days(sim, seed):
    """Load that comes and goes, people who delete things, and a worker that dies at any moment."""
    random = Random(seed)
    sim.world.workloads.add(Workload("web", random.randint(0, 6), {"cpu": "900m", "memory": "1Gi"}))
    sim.world.workloads.add(Workload("batch", random.randint(0, 3), {"cpu": "1700m", "memory": "2Gi"}))
    sim.world.wake()
    for _ in range(random.randint(2, 6)):
        await asyncio.sleep(random.choice([random.uniform(0, 4), random.uniform(0, 30)]))
        match random.choice(["scale", "scale", "crash", "crash", "delete request", "delete removal", "delete node"]):
            case "scale":
                sim.scale(random.choice(["web", "batch"]), random.randint(0, 5))
            case "crash":
                await sim.crash()
                await asyncio.sleep(random.uniform(0, 20))
                sim.start()
            case "delete request":
                await delete_one(sim, NODE_REQUESTS, random)
            case "delete removal":
                await delete_one(sim, NODE_REMOVAL_REQUESTS, random)
            case "delete node":
                await delete_one(sim, NODES, random, among=(await sim.look()).requests)
    await sim.until(lambda v: not v.pending(), "all pods bound", within=400)
    sim.world.workloads.scale_all(0)
    sim.world.wake()
    end = await sim.until(is_over, "nothing left", within=900)
    wrong = sim.oracle.judge(end, servers=0)
    assert wrong == [], f"seed {seed}: {wrong}"


async def delete_one(sim, resource, random, among=None):
    names = [item["metadata"]["name"] for item in (await sim.world.cluster.list(resource)).items]
    names = [name for name in names if among is None or name in among]
    if names:
        name = random.choice(names)
        sim.tell("person", f"deletes {resource.kind} {name}")
        if resource == NODE_REQUESTS:
            # Before Ready this ends the machine, also when its first pods are on it already.
            sim.oracle.excuse(name)
        await sim.world.cluster.delete(resource, name)


def is_over(view):
    return not (view.pods or view.servers or view.nodes or view.removals or view.requests)


def history(seed):
    return simulate(seed, lambda sim: busy_days(sim, seed), objects=OBJECTS, most_servers=20, losses=0.03)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_no_server_is_left_and_no_pod_forgotten(seed):
    history(seed)


def test_the_same_seed_gives_the_same_history_and_another_seed_another():
    assert history(1).log == history(1).log
    assert history(1).log != history(2).log


def test_the_history_is_the_same_in_another_process():
    # Sets of text are ordered by a hash that differs between processes: an order must never come from one.
    program = (
        "import sys; sys.path.insert(0, 'tests/simulator'); import test_simulation as t; print(t.digest(t.history(3)))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {digest(history(3))}


def digest(simulation):
    return hashlib.sha256("\n".join(simulation.log).encode()).hexdigest()
