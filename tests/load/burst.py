"""Thousands of pods at once, of several shapes, into an empty pool."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from activities.ports.cluster import NODE_POOLS, NODES, Object
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import LABEL_POOL, LABEL_SERVER_TYPE
from tests.builders import pod
from tests.e2e.growth_process import ROOT
from tests.e2e.workloads import NAMESPACE
from tests.load.masses import DEPLOYMENTS, create, deployment, node_class, pool, server_type
from tests.load.stage import Stage

POOL: Final = "burst"
SHAPES: Final = {
    "tiny": (8, "250m", "512Mi"),
    "usual": (6, "500m", "1Gi"),
    "busy": (3, "1", "2Gi"),
    "wide": (2, "500m", "4Gi"),
    "big": (1, "2", "4Gi"),
}
"""By name of a Deployment: of twenty pods so many, with this cpu and memory each."""
CLASS: Final = node_class(
    server_type("small", 2, 4, "0.0060", "2s"),
    server_type("medium", 4, 8, "0.0110", "2s"),
    server_type("large", 8, 16, "0.0210", "2s"),
    server_type("huge", 16, 32, "0.0400", "2s"),
)


@dataclass(frozen=True, slots=True)
class Bought:
    """What the machines of the pool are and cost."""

    machines: int
    cost_per_hour: Decimal


def workloads(count: int) -> list[dict[str, Any]]:
    """Return the Deployments of a burst of so many pods, a multiple of twenty."""
    return [
        deployment(name, POOL, count * of_twenty // 20, cpu, memory)
        for name, (of_twenty, cpu, memory) in SHAPES.items()
    ]


def lower_bound(folder: Path, bodies: Sequence[Object]) -> Decimal:
    """Return the cost per hour below which no set of machines holds all the pods, as `growth plan` proves it."""
    waiting = [
        pod(f"{body['metadata']['name']}-{i}", namespace=NAMESPACE, **body["spec"]["template"]["spec"])
        for body in bodies
        for i in range(body["spec"]["replicas"])
    ]
    objects = [_pool(), CLASS, *waiting]
    dump = folder / "burst.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    command = [Path(sys.prefix) / "bin" / "growth", "plan", "-f", str(dump), "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)
    assert planned["result"] == "AllPlaced"
    return Decimal(planned["lowerBoundPerHour"])


async def burst(on: Stage, bodies: Sequence[Object], *, patience: float) -> Bought:
    """Create all pods, wait until they run, and return what was bought for them."""
    await create(on.cluster, KWOK_NODE_CLASSES, [CLASS])
    await create(on.cluster, NODE_POOLS, [_pool()])
    await create(on.cluster, DEPLOYMENTS, bodies)
    wanted = {body["metadata"]["name"]: body["spec"]["replicas"] for body in bodies}
    await on.census.until(
        lambda: {name: on.census.up(name) for name in wanted} == wanted, f"{sum(wanted.values())} pods run", patience
    )
    nodes = (await on.cluster.list(NODES, labels=f"{LABEL_POOL}={POOL}")).items
    prices = {each["name"]: Decimal(each["pricePerHour"]) for each in CLASS["spec"]["serverTypes"]}
    cost = sum((prices[node["metadata"]["labels"][LABEL_SERVER_TYPE]] for node in nodes), Decimal(0))
    return Bought(len(nodes), cost)


def _pool() -> dict[str, Any]:
    types = [each["name"] for each in CLASS["spec"]["serverTypes"]]
    return pool(POOL, *types, most=2000, idle_after="1h", soft_grace="1h")
