"""Machines that should go by now are counted by pool and reason, also those that may not yet."""

from planner.plan import plan
from tests.planner.policies.triggers.fleet import aged, with_pods
from tests.worker.metrics_reader import metrics_shown
from worker.runtime.round_gauges import RoundGauges

DRIFTED = {"growth.dev/template-hash": "v1:0123456789abcdef"}


def test_due_machines_are_counted_by_reason(monkeypatch):
    with metrics_shown(monkeypatch) as shown:
        gauges = RoundGauges(elapsed=lambda: 0.0)
        nodes = [aged("a", days=9), aged("b", days=9, annotations=DRIFTED), aged("c", annotations=DRIFTED)]
        due = with_pods(*nodes, rotation={"maxNodeAge": "168h"}, scaleDown={"mode": "none"}).snapshot()
        gauges(due, plan(due))
        assert shown.values("growth_due_machines") == {("default", "Rotation"): 2, ("default", "Drift"): 2}
        fresh = with_pods(aged("d")).snapshot()
        gauges(fresh, plan(fresh))
        assert shown.values("growth_due_machines") == {}
