"""How much a worker with a Temporal server of its own takes, in a cluster of thousands of Nodes.

All of it runs on the same machine: the control plane, KWOK, the worker, its Temporal server and the test.
"""

import asyncio
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import pytest

from activities.ports.cluster import NODE_POOLS
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle.kinds import REMOVAL, REQUEST
from tests.load.burst import burst, lower_bound, workloads
from tests.load.figures import Cost, spread, tell
from tests.load.masses import DEPLOYMENTS, create, deployment, node_class, pool, server_type
from tests.load.processes import Used
from tests.load.stage import Stage, stage
from tests.load.swap import Times, swap

BYSTANDERS = 2000
MACHINES = 500
PODS = 5000
SINGLES = 10

P50_SECONDS = 1.0
"""As promised for small clusters: tests/e2e/test_latency.py."""
DEARER = Decimal("1.1")
"""Times the lower bound. Pods come over half a minute, and each round plans for those that it sees."""

pytestmark = [pytest.mark.load, pytest.mark.timeout(1800)]


async def in_flight(folder: Path) -> None:
    times = Times(cool_off=150, boot=120, patience=600)
    async with stage(folder, cluster="in-flight") as on:
        before = Used.by(on.growth)
        seen = await swap(on.cluster, on.census, on.temporal, MACHINES, times)
        cost = await Cost.since(before, on)
        tell(
            "in flight",
            {
                "In flight at the same moment": f"{seen.most.requests} requests, {seen.most.removals} removals",
                "Workflows that ran a moment later": (
                    f"{seen.workflows[REQUEST.workflow]} of requests, {seen.workflows[REMOVAL.workflow]} of removals, "
                    f"with {seen.then.requests} requests in flight and {seen.then.removals} removals"
                ),
                f"{seen.up.count} machines up": f"{seen.up.seconds:.0f} s, {seen.up.per_second:.1f} a second",
                "Machines up and down at the same time": (
                    f"{seen.both.count} in {seen.both.seconds:.0f} s, {seen.both.per_second:.1f} a second"
                ),
                **cost.rows(),
            },
        )
        assert (seen.most.requests, seen.most.removals) == (MACHINES, MACHINES)
        cost.check()


async def in_a_burst(folder: Path) -> None:
    bodies = workloads(PODS)
    least = lower_bound(folder, bodies)
    async with stage(folder, cluster="burst", bystanders=BYSTANDERS) as on:
        before = Used.by(on.growth)
        bought = await burst(on, bodies, patience=600)
        cost = await Cost.since(before, on)
        seen = on.census
        first, last = min(seen.unschedulable.values()), max(seen.running.values())
        tell(
            "burst",
            {
                "Pods": f"{PODS}, created within {seen.created_within():.0f} s",
                "Machines": f"{bought.machines} for {bought.cost_per_hour} EUR/h, lower bound {least} EUR/h",
                "From the first pod without a place until the last runs": f"{(last - first).total_seconds():.0f} s",
                "The same until the last purchase": f"{(max(seen.ordered.values()) - first).total_seconds():.0f} s",
                "From unschedulable to the purchase, for each pod": spread(waits(on)),
                **cost.rows(),
            },
        )
        assert set(seen.servers_ever) == seen.requests_ever
        assert len(seen.servers_ever) == bought.machines
        assert all(len(uids) == 1 for uids in seen.servers_ever.values())
        assert bought.cost_per_hour <= least * DEARER
        cost.check()


async def one_by_one(folder: Path) -> None:
    async with stage(folder, cluster="watched", bystanders=BYSTANDERS) as on:
        before = Used.by(on.growth)
        seconds = await singles(on, SINGLES, patience=30)
        cost = await Cost.since(before, on)
        tell("watched", {"From unschedulable to the purchase": spread(seconds), **cost.rows()})
        assert len(seconds) == SINGLES
        assert median(seconds) < P50_SECONDS
        cost.check()


def test_hundreds_of_machines_come_while_hundreds_go(tmp_path: Path):
    asyncio.run(in_flight(tmp_path))


def test_a_burst_of_thousands_of_pods_is_served(tmp_path: Path):
    asyncio.run(in_a_burst(tmp_path))


def test_a_pod_has_its_machine_ordered_promptly_beside_thousands_of_nodes(tmp_path: Path):
    asyncio.run(one_by_one(tmp_path))


POOL: Final = "single"


async def singles(on: Stage, count: int, *, patience: float) -> list[float]:
    """Create `count` Deployments of one pod, each after the last one runs, and return the seconds of `waits`."""
    await create(on.cluster, KWOK_NODE_CLASSES, [node_class(server_type("single", 2, 4, "0.0060", "1s"))])
    await create(on.cluster, NODE_POOLS, [pool(POOL, "single", most=count, idle_after="1h", soft_grace="1h")])
    names = [f"single-{i}" for i in range(count)]
    for name in names:
        await create(on.cluster, DEPLOYMENTS, [deployment(name, POOL, 1, "1500m", "1Gi")])
        await on.census.until(partial(on.census.up, name), f"{name} runs", patience)
    return waits(on)


def waits(on: Stage) -> list[float]:
    """Return the seconds from when it was told that a pod is unschedulable until a server was asked for it first."""
    seen = on.census
    return [
        (seen.ordered[request] - seen.unschedulable[name]).total_seconds()
        for name in seen.running
        if (request := seen.first_seats.get(name)) is not None and name in seen.unschedulable
    ]
