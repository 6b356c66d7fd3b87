"""A whole cluster after its pool was edited: each machine is replaced once, and then there is rest."""

import asyncio

from activities.ports.cluster import NODE_POOLS, NODES
from api.keys import ANNOTATION_TEMPLATE_HASH
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation, simulate

OBJECTS = [
    node_class([machine("small", cpu=2, memory=4, price="0.010")]),
    node_pool(
        "default",
        [{"name": "small"}],
        limits={"max": 8},
        scaleDown={"mode": "drain", "idleAfter": "5s", "softGrace": "5s"},
    ),
]


async def hashes(sim: Simulation) -> dict[str, str | None]:
    """Return the hash of each Node."""
    nodes = (await sim.world.cluster.list(NODES)).items
    return {
        node["metadata"]["name"]: (node["metadata"].get("annotations") or {}).get(ANNOTATION_TEMPLATE_HASH)
        for node in nodes
    }


def test_an_edited_template_replaces_each_machine_once():
    seen = {}

    async def story(sim: Simulation) -> None:
        await asyncio.sleep(30)
        sim.world.workloads.add(Workload("web", 3, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda v: len(v.pods) == 3 and not v.pending(), "the pods bound", within=120)
        before = await hashes(sim)
        seen["before"] = set(before.values())
        change = [{"op": "add", "path": "/spec/template", "value": {"labels": {"team": "b"}}}]
        await sim.world.cluster.patch(NODE_POOLS, "default", change)
        await sim.until(
            lambda v: not v.removals and not v.pending() and not before.keys() & v.nodes.keys(),
            "each machine replaced",
            within=1800,
        )
        seen["after"] = await hashes(sim)
        await asyncio.sleep(1200)
        seen["rest"] = await hashes(sim)

    simulate(1, story, objects=OBJECTS)
    assert len(seen["before"]) == len(set(seen["after"].values())) == 1
    assert None not in seen["before"]
    assert seen["before"].isdisjoint(seen["after"].values())
    assert seen["after"] == seen["rest"]
