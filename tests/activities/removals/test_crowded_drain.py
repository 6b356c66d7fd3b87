"""A drain of a node with many pods: how often the API server is called, and how often its removal looks or acts."""

from activities.ports.cluster import PODS
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.removals.drains import draining, end_pods, go_on, pods

PODS_ON_IT, SOME = 250, 40
"""The latter where each second of a drain is looked at."""


class Calls:
    """Counts the calls of each verb."""

    def __init__(self, cluster, monkeypatch):
        self.counts = {}
        for verb in ("list", "get", "patch", "evict", "delete", "create"):
            monkeypatch.setattr(cluster, verb, self._counted(verb, getattr(cluster, verb)))

    def _counted(self, verb, call):
        async def counted(*given, **options):
            self.counts[verb] = self.counts.get(verb, 0) + 1
            return await call(*given, **options)

        return counted


class Looks:
    """Counts the activities of a removal."""

    def __init__(self, life, monkeypatch):
        self.number = 0
        for name in ("look_removal", "do"):
            owner = life.removals if name == "look_removal" else life
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call):
        async def counted(*given, **options):
            self.number += 1
            return await call(*given, **options)

        return counted


async def crowded(monkeypatch, budget=None, *, number_of_pods=SOME, **fields):
    life = await draining(**fields)
    for number in range(number_of_pods):
        await life.run_pod(f"web-{number:03}")
    if budget:
        await life.add_budget(**budget)
    return life, Calls(life.cluster, monkeypatch), Looks(life, monkeypatch)


async def test_without_budgets_each_pod_costs_one_call(monkeypatch):
    life, calls, _ = await crowded(monkeypatch, number_of_pods=PODS_ON_IT)
    await life.do("evict_pods")
    assert calls.counts["evict"] == PODS_ON_IT
    assert sum(calls.counts.values()) <= PODS_ON_IT + 40


async def test_under_a_budget_that_never_allows_it_a_quarter_of_an_hour_costs_little(monkeypatch):
    life, calls, _ = await crowded(monkeypatch, {"maxUnavailable": 0}, reason="Consolidation")
    await go_on(life, seconds=1200, tick=5)
    # 7 rounds of evictions, at 0, 10, 30, 70, 150, 310 and 610 s.
    assert calls.counts["evict"] == 7
    assert await life.removal() is None


async def test_pods_that_go_one_by_one_cost_three_calls_each(monkeypatch):
    """As each one's successor is Ready elsewhere before the next round."""
    life, calls, looks = await crowded(monkeypatch, {"maxUnavailable": 1})
    rounds = 0
    while await pods(life):
        step = await life.removal_step()
        if step.reason == "PodsLeave":
            break
        await life.do("evict_pods")
        await end_pods(life)
        rounds += 1
        life.pass_time(10)
    assert rounds == SOME
    assert calls.counts["evict"] <= 3 * SOME
    # A look for the step, the evictions and a look after them.
    assert looks.number <= 3 * SOME


async def test_telling_and_forcing_them_costs_three_calls_each(monkeypatch):
    life, calls, _ = await crowded(
        monkeypatch, {"maxUnavailable": 0}, reason="Rotation", scale_down={"terminationGracePeriod": "10m"}
    )
    await go_on(life, seconds=590, tick=5)
    # An event, the mark, the deletion; and the looks.
    assert calls.counts["delete"] == SOME
    assert calls.counts["create"] <= SOME + 20
    assert calls.counts["patch"] <= SOME + 40
    await end_pods(life)
    assert await pods(life) == {}
    assert (await MemoryCluster.list(life.cluster, PODS)).items == []
