"""The simulated disruption controller gives budgets the counts that evictions go by."""

import asyncio
from contextlib import suppress

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS, PODS
from activities.ports.errors import BudgetExhausted
from simulator.catalogue import machine, node_class, node_pool
from simulator.scheduling.workloads import Workload
from simulator.simulation import Simulation, simulate
from tests.builders import as_sent, disruption_budget

OBJECTS = [
    node_class([machine("small", cpu=2, memory=4, price="0.010")]),
    node_pool("default", [{"name": "small"}], limits={"max": 5}),
]


@pytest.mark.parametrize(("spec", "allowed"), [({"minAvailable": 2}, 1), ({"maxUnavailable": 0}, 0)])
def test_a_budget_lets_so_many_go_as_its_status_says(spec, allowed):
    async def story(sim: Simulation) -> None:
        cluster = sim.world.cluster
        budget = as_sent(disruption_budget("web", **spec))
        await sim.world.apply(budget)
        sim.world.workloads.add(Workload("web", 3, {"cpu": "500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda v: len(v.pods) == 3 and not v.pending(), "the pods bound", within=120)
        await asyncio.sleep(1)
        [seen] = cluster.peek(DISRUPTION_BUDGETS)
        assert seen["status"] == {
            "observedGeneration": 1,
            "expectedPods": 3,
            "currentHealthy": 3,
            "desiredHealthy": 3 - allowed,
            "disruptionsAllowed": allowed,
        }
        gone = 0
        for pod in list(cluster.peek(PODS)):
            metadata = pod["metadata"]
            with suppress(BudgetExhausted):
                await cluster.evict(metadata["name"], namespace="default", uid=metadata["uid"])
                gone += 1
        assert gone == allowed

    simulate(1, story, objects=OBJECTS)
