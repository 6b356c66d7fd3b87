"""Single pods, one after the other: how long each waits for its purchase."""

from functools import partial
from typing import Final

from activities.ports.cluster import NODE_POOLS
from activities.providers.built_in import KWOK_NODE_CLASSES
from tests.load.masses import DEPLOYMENTS, create, deployment, node_class, pool, server_type
from tests.load.stage import Stage

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
