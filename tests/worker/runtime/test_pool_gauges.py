"""What metrics tell of pools: no series of what is gone, no value that is none, few series, and at little cost."""

import math
import re
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import Act, EffectInput
from planner.plan import plan
from planner.policies.utilisation.pool_figures import figures_of
from planner.policies.utilisation.pool_use import PoolUses
from planner.supply.machines import machines_of
from tests.builders import NOW, before, node, node_pool, node_request, pod
from tests.planner.scenes import scene
from tests.worker.metrics_reader import metrics_shown
from worker.pool_metrics import POOL_METRICS
from worker.runtime.lifecycle_outcomes import outcome_counter
from worker.runtime.round_gauges import RoundGauges

LOCK = {"scaleUp": {"lock": {"min": "2m", "max": "10m"}}}
BOUGHT = {"metadata": {"creationTimestamp": before(minutes=4)}}
READY = {"phase": "Ready", "readyAt": before(minutes=3), "releasedAt": before(minutes=3)}


@pytest.fixture
def shown(monkeypatch):
    with metrics_shown(monkeypatch) as shown:
        yield shown


def told(gauges, given):
    """Tell the gauges of a round; return the statuses that it leaves."""
    snapshot = given.snapshot()
    made = plan(snapshot)
    gauges(snapshot, made)
    return {report.name: report.status for report in made.pools}


def test_series_of_a_pool_that_is_gone_go_with_the_next_round(shown):
    """kubernetes/kube-state-metrics issue 1380: what was removed was told of for days."""
    gauges = RoundGauges()
    pools = [node_pool("default", **LOCK), node_pool("other", **LOCK)]
    told(gauges, scene(node("n", pool="other"), pools=pools))
    names = {metric.shown for metric in POOL_METRICS}
    assert {name for name in names if any("other" in labels for labels in shown.values(name))} == names - {
        "growth_pool_threshold_utilisation"
    }
    told(gauges, scene(pools=pools[:1]))
    assert [name for name in names if any("other" in labels for labels in shown.values(name))] == []
    assert 'pool="other"' not in shown.text()


def test_no_value_is_infinite_or_no_number(shown):
    """atlassian/escalator request 148: a share of no capacity is neither 0 % nor the largest number there is."""
    gauges = RoundGauges()
    bare = node("bare", allocatable={"cpu": "0", "memory": "0"})
    told(gauges, scene(bare, pod("waits"), pod("on-it", node="bare")))
    numbers = [float(number) for number in re.findall(r"^growth_\S+ (\S+)$", shown.text(), re.MULTILINE)]
    assert len(numbers) > 20
    assert all(math.isfinite(number) and number >= 0 for number in numbers)
    assert shown.values("growth_pool_utilisation") == {}
    assert shown.values("growth_pool_capacity")["default", "cpu"] == 0
    assert shown.values("growth_pool_requests")["default", "cpu"] == 1


def test_nodes_of_a_pool_add_up_and_series_are_few(shown):
    gauges = RoundGauges()
    told(gauges, scene(*(node(f"n{number}", ready=number % 3 > 0) for number in range(30)), **LOCK))
    assert sum(shown.values("growth_pool_nodes").values()) == 30
    assert sum(len(shown.values(metric.shown)) for metric in POOL_METRICS) <= 22


def test_how_long_a_lock_was_closed_is_told_once(shown):
    gauges = RoundGauges()
    closed = {"closedAt": before(minutes=4), "requested": 1}
    given = scene(
        node("a"), node_request("a", **BOUGHT, **READY), pools=[node_pool(**LOCK) | {"status": {"lock": closed}}]
    )
    status = told(gauges, given)["default"]
    assert shown.values("growth_lock_seconds_sum") == {("Ready",): 240}
    assert shown.values("growth_lock_closed") == {("default",): 0}
    given.pools[0]["status"] = status.to_json()
    told(gauges, given)
    assert shown.values("growth_lock_seconds_count") == {("Ready",): 1}


def test_a_lock_that_closes_is_told_and_so_are_decisions(shown):
    told(RoundGauges(), scene(pod("a", "2"), pod("b", "2"), types=("cx22",), **LOCK))
    assert shown.values("growth_lock_closed") == {("default",): 1}
    assert shown.values("growth_decisions_total") == {("grow", "Pods"): 2}
    assert shown.values("growth_scale_delta") == {("default",): 2}


def ended(outcomes, effect, seen):
    outcomes(effect, EffectInput(name="n", uid="u", act=Act(effect=effect, reason="Tested")), seen)


def test_drains_are_timed_once_no_pod_is_left(shown):
    outcomes = outcome_counter()
    drained = {"type": "Drained", "status": "True", "reason": "Empty", "message": "", "lastTransitionTime": before()}
    status = {"phase": "Deprovisioning", "drainStartedAt": before(minutes=5), "conditions": [drained]}
    ended(outcomes, RemovalEffect.COMMIT, RemovalObservation.model_validate({"status": status}))
    assert shown.values("growth_drain_seconds_sum") == {(): 300}
    # One that was empty has not been drained.
    ended(outcomes, RemovalEffect.COMMIT, RemovalObservation.model_validate({"status": {"phase": "Deprovisioning"}}))
    assert shown.values("growth_drain_seconds_count") == {(): 1}


def test_a_clock_that_was_set_back_adds_no_time_below_nothing(shown):
    outcomes = outcome_counter()
    late = {"phase": "Ready", "createAttemptAt": before(), "readyAt": before(minutes=1)}
    ended(outcomes, RequestEffect.MARK_READY, RequestObservation.model_validate({"status": late}))
    assert shown.values("growth_machine_start_seconds_count") == {}
    status = late | {"readyAt": before(), "createAttemptAt": before(minutes=2)}
    ended(outcomes, RequestEffect.MARK_READY, RequestObservation.model_validate({"status": status}))
    assert shown.values("growth_machine_start_seconds_sum") == {("ready",): 120}


def cpu_seconds(nodes: int) -> float:
    """Return what the figures of 20 pools cost, with ten pods on each Node: the best of three."""
    given = scene(pools=[node_pool(f"p{number}") for number in range(20)])
    given.nodes = [node(f"n{number}", pool=f"p{number % 20}") for number in range(nodes)]
    given.pods = [pod(f"w{number}", "100m", node=f"n{number % nodes}") for number in range(10 * nodes)]
    snapshot = given.snapshot()
    machines = machines_of(snapshot)
    taken: list[float] = []
    for _ in range(3):
        began = time.process_time()
        uses = PoolUses(snapshot, machines.values())
        made = [figures_of(pool, uses, {}, NOW + timedelta()) for pool in snapshot.pools]
        taken.append(time.process_time() - began)
        assert sum(sum(each.nodes.values()) for each in made) == nodes
    return min(taken)


def test_figures_of_a_thousand_nodes_cost_little_and_grow_with_them_alone():
    """A round over them has a target of 150 ms: benchmarks/round_rows.py."""
    hundred, thousand = cpu_seconds(100), cpu_seconds(1000)
    assert thousand < 0.05
    assert thousand < 25 * hundred + 0.005


def test_a_plan_without_figures_shows_none(shown):
    snapshot = scene(node("n")).snapshot()
    made = plan(snapshot)
    RoundGauges()(snapshot, replace(made, figures=dict))
    assert shown.values("growth_pool_requests") == {}
