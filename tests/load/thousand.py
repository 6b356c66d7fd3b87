"""A thousand pods of the benchmark at once: fifty shapes with constraints of every kind, and its machines.

The real scheduler has its default profile.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from activities.ports.cluster import NODE_POOLS, NODES
from activities.providers.built_in import KWOK_NODE_CLASSES
from api.keys import LABEL_POOL, LABEL_SERVER_TYPE
from api.quantity import format_price
from benchmarks.generator import Recipe
from benchmarks.instance import Instance
from benchmarks.objects import pod_of, server_types_of
from planner.model.round import RoundResult
from tests.load.masses import DEPLOYMENTS, create, node_class, pool
from tests.load.stage import Stage
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
