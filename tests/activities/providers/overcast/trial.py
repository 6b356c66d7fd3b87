"""Tries the package out where it is installed: the conformance checks, and a machine's whole way on the simulator.

`python -m overcast.trial` prints what came of it as JSON.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from activities.ports.cluster import Cluster
from activities.ports.ports import Compute
from activities.ports.provider import Provider, Server
from activities.ports.provider_kind import Surroundings
from activities.providers.kinds import provider_kinds
from overcast.provider import SKY, OvercastProvider
from simulator.apiserver.cluster import MemoryCluster
from simulator.catalogue import node_pool
from simulator.conformance.provider import CHECKS, CLUSTER, Stage
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation, simulate
from simulator.world import CLUSTER_NAME, NAMESPACE, World

(KIND,) = (kind for kind in provider_kinds() if kind.name == "Overcast")
START = datetime(2026, 11, 1, 12, tzinfo=UTC)
CLASS = {
    "apiVersion": "growth.dev/v1alpha1",
    "kind": "OvercastNodeClass",
    "metadata": {"name": "grey"},
    "spec": {"serverTypes": [{"name": "drizzle", "cores": 2, "pricePerHour": "0.0071"}]},
}
POOL = node_pool(
    "default",
    [{"name": "drizzle"}],
    limits={"max": 3},
    template={"classRef": {"kind": "OvercastNodeClass", "name": "grey"}},
    scaleUp={"recordTTL": "30s"},
    scaleDown={"idleAfter": "10s", "softGrace": "10s"},
)


def stage() -> Stage:
    clock = [START]

    def pass_time(seconds: float) -> None:
        clock[0] += timedelta(seconds=seconds)

    cluster = MemoryCluster(lambda: clock[0])
    provider = OvercastProvider(Surroundings(cluster, CLUSTER, NAMESPACE, lambda: clock[0]), {})
    return Stage(provider, CLASS, "drizzle", "cirrus", "stratus", Decimal("0.0071"), "EUR", pass_time)


class OvercastWorld(World):
    """The simulated cluster, whose servers are Overcast's; workers let their Nodes join."""

    node_classes = KIND.node_classes
    do_workers_tend = True

    async def servers(self) -> list[Server]:
        return [one.server for one in SKY.values()]

    async def follow_servers(self, note: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(1)
            note()

    async def _boot(self) -> bool:
        return False

    def _providers(self, cluster: Cluster, now: Callable[[], datetime], _call: Compute) -> Mapping[str, Provider]:
        return {KIND.kind: KIND.connect(Surroundings(cluster, CLUSTER_NAME, NAMESPACE, now))}


async def story(sim: Simulation) -> dict[str, object]:
    """Let a machine come for two pods and go with them, and return what was seen on the way."""
    sim.world.workloads.add(Workload("web", 2, {"cpu": "900m", "memory": "1Gi"}))
    sim.world.wake()
    up = await sim.until(lambda v: len(v.pods) == 2 and not v.pending(), "both pods bound", within=120)
    (server,) = up.servers.values()
    (node,) = up.nodes.values()
    sim.world.workloads.scale_all(0)
    sim.world.wake()
    down = await sim.until(
        lambda v: not (v.pods or v.servers or v.nodes or v.removals or v.requests), "nothing left", within=300
    )
    return {
        "server": [server.server_type, server.location, node["spec"]["providerID"]],
        "placement": sorted(set(up.placement().values()) - {server.name}),
        "left": sorted(down.servers),
        "wrong": sim.oracle.judge(down, servers=0),
    }


def main() -> None:
    for check in CHECKS:
        asyncio.run(check(stage()))
    seen: dict[str, object] = {}

    async def told(sim: Simulation) -> None:
        seen.update(await story(sim))

    simulate(1, told, objects=[CLASS, POOL], most_servers=1, make_world=OvercastWorld)
    print(json.dumps({"checks": len(CHECKS), **seen}))


if __name__ == "__main__":
    main()
