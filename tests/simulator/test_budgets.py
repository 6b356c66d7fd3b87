"""Budgets in virtual time: at each moment no more machines go than they allow, also over kills of the worker."""

from datetime import timedelta

import pytest

from planner.policies.pace import budgets
from simulator.catalogue import machine, node_class, node_pool
from simulator.clock import START
from simulator.scheduling.workloads import Workload
from simulator.simulation import simulate
from tests.tables import rows

OPENS_AFTER = timedelta(minutes=20)
BUDGETS = [
    {"nodes": 2},
    # The worlds begin at midnight UTC, in Kolkata at half past five.
    {"nodes": 0, "start": "05:00", "end": "05:50", "timezone": "Asia/Kolkata"},
]


def history(seed, *, kills=0, said=None):
    """Empty six machines while none may go, and then two at once; return what was wrong."""
    small = machine("small", cpu=2, memory=4, price="0.010", boot_time="10s")
    wish = {"idleAfter": "5s", "softGrace": "20s", "budgets": BUDGETS}
    pool = node_pool("default", [{"name": "small"}], limits={"max": 9}, scaleUp={"recordTTL": "5s"}, scaleDown=wish)

    async def story(sim):
        sim.oracle.may_leave = {"Empty": lambda: 2 if sim.now() >= START + OPENS_AFTER else 0}
        sim.world.workloads.add(Workload("web", 6, {"cpu": "1500m", "memory": "1Gi"}))
        sim.world.wake()
        await sim.until(lambda v: len(v.pods) == 6 and not v.pending() and not v.requests, "six machines", within=300)
        sim.scale("web", 0)
        for _ in range(kills):
            await sim.until(lambda v: len(v.removals) == 2, "two that go", within=1800)
            await sim.crash()
            sim.start()
        await sim.until(lambda v: not v.servers and not v.removals, "all gone", within=2400)
        # Two, two and two: no time is lost once the window closes.
        assert said is not None or sim.now() < START + OPENS_AFTER + timedelta(minutes=5)

    sim = simulate(seed, story, objects=(node_class([small]), pool))
    return sim.oracle.violations


@pytest.mark.parametrize("seed", range(3))
def test_budgets_hold_at_each_moment(seed):
    assert history(seed, kills=seed) == []


@rows(
    ("owner", "name", "fault", "found"),
    {
        "what goes already is not counted": (budgets, "counted_reason", lambda _: None, "3 machines are under removal"),
        "no budget is asked": (budgets.PoolBudgets, "limit", lambda *_: None, "at most 0 may be"),
        "windows are read in UTC": (
            budgets,
            "is_open",
            lambda budget, at, real=budgets.is_open: real(budget.model_copy(update={"timezone": None}), at),
            "at most 0 may be",
        ),
    },
)
def test_a_planted_fault_is_found(monkeypatch, owner, name, fault, found):
    monkeypatch.setattr(owner, name, fault)
    assert any(found in violation for violation in history(1, said=found))
