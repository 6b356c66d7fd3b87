"""Budgets and machines that they hold back, as `growth plan` tells of them."""

from planner.plan import plan
from tests.builders import before, node, node_removal_request
from tests.planner.scenes import scene
from worker.commands.plan.document import document
from worker.commands.plan.table import print_plan

IDLE = {"growth.dev/idle-since": before(minutes=11)}
CLOSED = {"nodes": 0, "reasons": ["Empty"], "start": "10:00", "end": "14:30"}
WHY = "the budget of pool default for Empty, 0 from 10:00 to 14:30 UTC, lets none go now"


def planned():
    """Three machines: one is empty and may not go now, one goes for drift."""
    goes = node_removal_request("b", spec={"reason": "Drift"}, metadata={"labels": {"growth.dev/request": "b"}})
    given = scene(
        node("a", annotations=IDLE),
        node("b"),
        node("c"),
        removals=[goes],
        scaleDown={"budgets": [CLOSED, {"nodes": 3}]},
    )
    return plan(given.snapshot())


def test_as_data():
    (pool,) = document(planned())["pools"]
    assert pool["blocked"] == [{"node": "a", "trigger": "Empty", "reason": "Budget", "why": WHY}]
    assert {state["reason"]: state for state in pool["budget"]} == {
        "Empty": {"reason": "Empty", "allowed": 0, "used": 0, "left": 0, "opensAt": "2026-03-01T14:30:00Z"},
        **{
            reason: {"reason": reason, "allowed": 3, "used": 1, "left": 2, "opensAt": None}
            for reason in ("Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused")
        },
    }


def test_without_a_limit_there_is_no_number():
    (pool,) = document(plan(scene(node("a")).snapshot()))["pools"]
    assert pool["budget"][0] == {"reason": "Empty", "allowed": None, "used": 0, "left": None, "opensAt": None}
    assert pool["blocked"] == []


def test_as_a_table(capsys):
    print_plan(planned())
    shown = " ".join(capsys.readouterr().out.split())
    assert "Held back pool node would go by kept by why default a Empty Budget the budget of p" in shown
