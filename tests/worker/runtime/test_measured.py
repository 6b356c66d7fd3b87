"""What the metrics show of a worker that lets machines come and go, on a simulated cluster."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from activities.kube.cache import Cache
from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES
from activities.ports.errors import RateLimited
from planner.model.plan import BlockedMachine, Plan, PlanResult, Snapshot
from simulator.catalogue import machine, node_class, node_pool
from simulator.clock import START
from simulator.scheduling.workloads import Workload
from simulator.world import NAMESPACE, World
from tests.worker.metrics_reader import metrics_shown
from worker.metric import Kind
from worker.metrics import DRAIN, METRICS
from worker.ports import ports_on, utc_now, watched
from worker.runtime.measured import counted, measured
from worker.runtime.round_gauges import FORGOTTEN_AFTER_SECONDS, RoundGauges
from worker.runtime.wiring import at_work
from worker.solver.process import SolverProcess

ROOT = Path(__file__).parents[3]
CLASS = "KwokNodeClass"


@pytest.fixture
def shown(monkeypatch):
    with metrics_shown(monkeypatch) as shown:
        yield shown


async def until(holds) -> None:
    while not await holds():
        await asyncio.sleep(0.05)


async def test_a_worker_shows_what_waits_what_is_there_what_it_costs_and_what_came_of_it(client, cluster_name, shown):
    world = World(now=utc_now, seed=1)
    stubborn = [{"call": "delete", "times": 1}]
    await world.apply(
        node_class([machine("small", cpu=2, memory=4, price="0.01", boot_time="100ms")], faults=stubborn),
        node_pool(
            "default",
            [{"name": "small"}],
            limits={"max": 1},
            scaleUp={
                "recordTTL": "1s",
                "lock": {"min": "0s", "max": "1m"},
                # All that is there is more than half in use, and no further machine is allowed.
                "estimators": ["binPack", "threshold"],
                "thresholdPercent": 50,
            },
            scaleDown={
                "mode": "drain",
                "idleAfter": "0s",
                "softGrace": "1s",
                "removal": {"maxAttempts": 1, "retry": "1s", "parkedRetry": "8s"},
            },
        ),
    )
    cache = Cache(world.cluster, watched())
    reached = ports_on(world.cluster, cache, cluster_name=cluster_name, namespace=NAMESPACE, packers=SolverProcess())
    ports = measured(reached)

    def shows(name: str, *labels: str, value: float = 1):
        async def holds() -> bool:
            return shown.values(name).get(labels) == value

        return holds

    async def is_over() -> bool:
        left = [(await world.cluster.list(kind)).items for kind in (NODES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS)]
        return not any(left)

    moving = asyncio.create_task(world.run())
    try:
        async with asyncio.timeout(100), at_work(client, ports, cache):
            world.workloads.add(Workload("web", 3, {"cpu": "1500m", "memory": "1Gi"}))
            world.wake()
            # One machine is all that the pool may have, and one pod is all that it holds.
            await until(shows("growth_waiting_pods", "none", value=2))
            await until(shows("growth_machines", "ready", "default"))
            await until(shows("growth_price_per_hour", "EUR", "default", value=0.01))
            # A tenth of a pool of one, rounded up.
            await until(shows("growth_disruptions_allowed", "default", "Drift"))
            await until(shows("growth_requests_total", "Ready"))
            world.workloads.scale_all(0)
            world.wake()
            await until(shows("growth_waiting_pods", "none", value=0))
            await until(shows("growth_removals_total", "CouldNotRemove"))
            await until(shows("growth_parked_removals", "default"))
            await until(is_over)
            await until(shows("growth_machines", "ready", "default", value=0))
            what_came_of_it(shown)
            world.workloads.add(Workload("api", 1, {"cpu": "1500m", "memory": "1Gi"}))
            world.wake()
            await until(shows("growth_machines", "ready", "default"))
            # Another machine would have this label, and none may be bought before the first is gone.
            changed = [{"op": "add", "path": "/spec/template", "value": {"labels": {"tier": "web"}}}]
            await world.cluster.patch(NODE_POOLS, "default", changed)
            world.wake()
            await until(shows("growth_due_machines", "default", "Drift"))
            await until(shows("growth_blocked_machines", "default", "BlockedByMisfit"))
            what_is_used(shown)
            table_holds(shown)
    finally:
        moving.cancel()


def what_is_used(shown) -> None:
    """One pod asks for 1.5 of 2 cores, on the one machine that was bought and that opened its lock."""
    assert shown.values("growth_pool_requests")["default", "cpu"] == 1.5
    assert shown.values("growth_pool_capacity")["default", "cpu"] == 2
    assert shown.values("growth_pool_utilisation")["default", "cpu"] == 0.75
    assert shown.values("growth_pool_threshold_utilisation")["default", "cpu"] == 0.75
    assert shown.values("growth_largest_free")["default", "cpu"] == 0.5
    assert shown.values("growth_pool_nodes")["default", "untainted"] == 1
    assert shown.values("growth_pool_limits") == {("max", "default"): 1, ("min", "default"): 0}
    assert shown.values("growth_lock_closed") == {("default",): 0}
    assert shown.values("growth_lock_seconds_count")["Ready",] == 2
    assert shown.values("growth_machine_start_seconds_count") == {("ready",): 2, ("registered",): 2}
    assert shown.values("growth_decisions_total")["grow", "Pods"] == 2


def what_came_of_it(shown) -> None:
    """One machine came and went, and one call to the provider failed."""
    assert shown.values("growth_removals_total") == {("CouldNotRemove",): 1, ("Removed",): 1}
    calls = shown.values("growth_provider_calls_total")
    assert calls["create", "ok", CLASS] == 1
    assert calls["delete", "ok", CLASS] >= 1
    assert calls["get", "NotFound", CLASS] >= 1
    assert sum(calls[key] for key in calls if key[0] == "delete" and key[1] != "ok") == 1
    assert shown.values("growth_rounds_total")["IncompletePlacement",] >= 1
    assert shown.values("growth_last_round_timestamp_seconds")[()] == pytest.approx(utc_now().timestamp(), abs=60)


def table_holds(shown) -> None:
    """Each metric that is shown has a row with its name, kind, help and labels, and each is shown, but for drains."""
    text = shown.text()
    kinds = dict(re.findall(r"^# TYPE (growth_\w+) (\w+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (growth_\w+) (.*)$", text, re.MULTILINE))
    # The client library writes a series of its own for the time at which each counter began.
    assert {name: kind for name, kind in kinds.items() if not name.endswith("_created")} == {
        one.shown: one.kind.value for one in METRICS if one is not DRAIN
    }
    for one in (each for each in METRICS if each is not DRAIN):
        assert helps[one.shown] == one.help
        suffix = "_count" if one.kind is Kind.HISTOGRAM else ""
        assert shown.labels(one.shown + suffix) == set(one.labels)


def test_no_metric_is_made_beside_the_table():
    makers = r"create_(observable_)?(counter|gauge|histogram|up_down_counter)\("
    found = subprocess.run(
        ["git", "grep", "-lE", makers, "--", "*.py", ":!tests"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert found == ["worker/metric.py"]


def test_what_a_round_saw_is_forgotten_but_not_when_it_was(shown):
    seconds = [0.0]
    gauges = RoundGauges(lambda: seconds[0])
    assert shown.values("growth_waiting_pods") == shown.values("growth_last_round_timestamp_seconds") == {}
    gauges(Snapshot(START), Plan(PlanResult.NO_DEMANDS))
    seconds[0] = FORGOTTEN_AFTER_SECONDS
    assert shown.values("growth_waiting_pods") == {("planned",): 0, ("none",): 0}
    seconds[0] += 1
    assert shown.values("growth_waiting_pods") == {}
    assert shown.values("growth_last_round_timestamp_seconds") == {(): START.timestamp()}


async def test_a_call_that_fails_is_counted_by_its_error_and_fails_as_before(shown):
    provider = World(now=lambda: START, seed=1).provider

    async def too_many(_cluster: str):
        raise RateLimited("one call too many", 1.0)

    provider.list = too_many
    measured_provider = counted(provider)
    with pytest.raises(RateLimited, match="one call too many"):
        await measured_provider.list("default")
    assert shown.values("growth_provider_calls_total") == {("list", "RateLimited", CLASS): 1}
    assert measured_provider.node_classes is provider.node_classes


def test_machines_that_stay_are_counted_by_pool_and_reason(shown):
    gauges = RoundGauges(lambda: 0.0)
    kept = [("default", "BlockedByBudget"), ("default", "BlockedByBudget"), ("large", "BlockedByBarePod")]
    blocked = tuple(BlockedMachine(pool, "n", "u", "Consolidation", reason, "why") for pool, reason in kept)
    gauges(Snapshot(now=START), Plan(PlanResult.NO_DEMANDS, blocked=blocked))
    values = shown.values("growth_blocked_machines")
    assert values == {("default", "BlockedByBudget"): 2, ("large", "BlockedByBarePod"): 1}
    gauges(Snapshot(now=START), Plan(PlanResult.NO_DEMANDS))
    assert shown.values("growth_blocked_machines") == {}
