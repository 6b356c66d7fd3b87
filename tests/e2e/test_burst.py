"""A thousand pods at once on a real control plane: what the plan says is what happens, and what it costs.

Pods and machines are the benchmark's, fifty shapes with constraints of every kind that it draws. The real scheduler has
its default profile.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from activities.ports.cluster import KWOK_NODE_CLASSES, NODE_POOLS, NODES
from api.keys import LABEL_POOL, LABEL_SERVER_TYPE
from api.money import format_price
from benchmarks.generator import Recipe, draw
from benchmarks.instance import Instance
from benchmarks.objects import pod_of, server_types_of
from planner.model.round import RoundResult
from tests.load.masses import DEPLOYMENTS, create, node_class, pool
from tests.load.stage import Stage, stage
from tests.load.swap import check_end
from workflows.messages import PLANNER
from workflows.policies import PLAN_ROUND

RECIPE = Recipe(pods=1000, shapes=50, mix=True)
POOL = "default"
"""It takes pods that ask for no pool."""
BOOT_SECONDS = {"cx": 1, "cpx": 2, "cax": 3, "ccx": 4}
"""By family, so that machines of one plan do not turn Ready together."""
MOST = 1000
"""Machines of the pool."""
PATIENCE = 180
"""Seconds for each step: on a busy machine, pods that are left over wait for machines several times."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Bought:
    """What a round bought, as it told of its plan."""

    machines: int
    cost_per_hour: Decimal


def workload(i: int, instance: Instance) -> dict[str, Any]:
    """Return a Deployment with all pods of a shape."""
    shape, name = instance.shapes[i], f"shape-{i}"
    drawn = pod_of(name, i, shape)
    containers = [{**container, "image": "none"} for container in drawn["spec"]["containers"]]
    spec = {**drawn["spec"], "containers": containers, "terminationGracePeriodSeconds": 0}
    labels = {**drawn["metadata"]["labels"], "app": name}
    return {
        "metadata": {"name": name, "namespace": drawn["metadata"]["namespace"]},
        "spec": {
            "replicas": shape.count,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def machines(instance: Instance) -> list[dict[str, Any]]:
    """Return the server types, each with the time that it takes to boot."""
    return [
        {
            **kind,
            "pricePerHour": format_price(kind["pricePerHour"]),
            "locations": [
                {**place, "bootTime": f"{BOOT_SECONDS[kind['labels']['family']]}s"} for place in kind["locations"]
            ],
        }
        for kind in server_types_of(instance)
    ]


async def rounds(temporal: Client) -> list[RoundResult]:
    """Return what every round so far has told, the first one first, as the planner's history has it."""
    found: list[RoundResult] = []
    runs = [run async for run in temporal.list_workflows(f"WorkflowType = '{PLANNER}'")]
    for run in sorted(runs, key=lambda run: run.start_time):
        history = await temporal.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        scheduled = {
            event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        }
        for event in history.events:
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                done = event.activity_task_completed_event_attributes
                if scheduled[done.scheduled_event_id] == PLAN_ROUND:
                    found += await temporal.data_converter.decode(done.result.payloads, [RoundResult])
    return found


def purchases(told: Sequence[RoundResult]) -> list[Bought]:
    """Return what rounds bought: each tells how many machines of its plan come, and what the plan costs."""
    matches = (re.search(r"(\d+) machines? to come for (\S+) EUR/h", one.summary) for one in told)
    return [Bought(int(match[1]), Decimal(match[2])) for match in matches if match is not None]


async def a_round_later(on: Stage) -> None:
    """Return when a round has ended that began after this call; a change of the pool makes one at once."""
    for most in (MOST + 1, MOST + 2):
        # One may be under way that does not count; rounds do not overlap, so of two that end, the second does.
        before = len(await rounds(on.temporal))
        await on.cluster.patch(NODE_POOLS, POOL, [{"op": "add", "path": "/spec/limits/max", "value": most}])
        async with asyncio.timeout(PATIENCE):
            while len(await rounds(on.temporal)) == before:
                await asyncio.sleep(0.5)


async def come(on: Stage, instance: Instance, *, reserve: bool) -> float:
    """Let all pods come, then the pool that takes them; return how many seconds later all run and no more comes."""
    seen, loop = on.census, asyncio.get_running_loop()
    await create(on.cluster, DEPLOYMENTS, [workload(i, instance) for i in range(len(instance.shapes))])
    await seen.until(lambda: len(seen.unschedulable) == RECIPE.pods, "all pods are unschedulable", PATIENCE)
    began = loop.time()
    kinds = machines(instance)
    new = pool(POOL, *(kind["name"] for kind in kinds), most=MOST, idle_after="1h", soft_grace="1h")
    new["spec"]["scaleUp"]["reserve"] = reserve
    await create(on.cluster, KWOK_NODE_CLASSES, [node_class(*kinds)])
    await create(on.cluster, NODE_POOLS, [new])
    await seen.until(
        lambda: len(seen.running) == RECIPE.pods and not seen.now.requests, "all pods run, and no more comes", PATIENCE
    )
    return loop.time() - began


async def cost_per_hour(on: Stage, instance: Instance) -> tuple[int, Decimal]:
    """Return how many machines have pods, and what these cost together."""
    prices = {machine.name: machine.price_per_hour for machine in instance.machines}
    used = set(on.census.bound.values())
    nodes = [node["metadata"] for node in (await on.cluster.list(NODES, labels=f"{LABEL_POOL}={POOL}")).items]
    costs = [prices[node["labels"][LABEL_SERVER_TYPE]] for node in nodes if node["name"] in used]
    return len(costs), sum(costs, Decimal(0))


async def as_planned(folder: Path) -> str:
    """Check all that is promised of a burst, and return what came of it in one line."""
    instance = draw(RECIPE)
    async with stage(folder, cluster="burst") as on:
        seen = on.census
        seconds = await come(on, instance, reserve=True)
        await check_end(on.cluster, seen, on.temporal, pods=RECIPE.pods, patience=PATIENCE)
        await a_round_later(on)
        await check_end(on.cluster, seen, on.temporal, pods=RECIPE.pods, patience=PATIENCE)

        elsewhere = {name: node for name, node in seen.bound.items() if seen.first_seats.get(name) != node}
        assert not elsewhere, "each pod runs on the machine that was bought for it"
        assert set(seen.bound.values()) == seen.requests_ever, "nothing else was ever bought"
        bought = purchases(await rounds(on.temporal))
        count, cost = await cost_per_hour(on, instance)
        assert count == sum(each.machines for each in bought)
        assert cost == sum(each.cost_per_hour for each in bought)
        return (
            f"{RECIPE}: {seconds:.0f} s after their pool came, all run as planned, on {count} machines for {cost} "
            f"EUR/h, bought in {len(bought)} rounds"
        )


async def without_reservations(folder: Path) -> str:
    """Return in one line what the same burst comes to where the scheduler puts pods on whatever is Ready."""
    instance = draw(RECIPE)
    async with stage(folder, cluster="unreserved") as on:
        await come(on, instance, reserve=False)
        bought = purchases(await rounds(on.temporal))
        count, cost = await cost_per_hour(on, instance)
        planned = bought[0]
        return (
            f"{RECIPE}, nothing reserved: on {count} machines for {cost} EUR/h, bought in {len(bought)} rounds; the "
            f"first planned {planned.machines} for {planned.cost_per_hour}: {cost / planned.cost_per_hour:.3f} of that"
        )


def test_a_thousand_pods_run_as_planned_for_what_was_planned(tmp_path: Path):
    print(f"\n{asyncio.run(as_planned(tmp_path))}")


def test_what_it_costs_without_reservations_is_told(tmp_path: Path):
    print(f"\n{asyncio.run(without_reservations(tmp_path))}")
