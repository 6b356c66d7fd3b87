"""Budgets in memory, beyond what the conformance suite compares with the real disruption controller."""

from contextlib import nullcontext

import pytest

from activities.ports.errors import BudgetExhausted, Rejected
from simulator.apiserver.disruption_budgets import check_budgets

LABELS = {"app": "web"}


def pod(name, *, ready=True, phase="Running", going=False, **labels):
    metadata = {"name": name, "namespace": "shop", "labels": labels or LABELS}
    if going:
        metadata["deletionTimestamp"] = "2026-11-01T12:00:00Z"
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": metadata, "spec": {"nodeName": "n"}, "status": {"phase": phase, "conditions": conditions}}


def budget(name="web", **spec):
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": LABELS}, **spec}}


A, B, C = (pod(name) for name in "abc")
SICK = pod("a", ready=False)


@pytest.mark.parametrize(
    ("spec", "pods", "may_go"),
    [
        ({"minAvailable": 2}, [A, B, C], True),
        ({"minAvailable": 3}, [A, B, C], False),
        ({"maxUnavailable": 1}, [A, B, C], True),
        ({"maxUnavailable": 1}, [A, B, pod("c", ready=False)], False),
        ({"maxUnavailable": 1}, [A, B, pod("c", going=True)], False),
        ({"maxUnavailable": 0}, [A, B, C], False),
        ({}, [A, B, C], True),
        ({"minAvailable": 1}, [A, pod("b", phase="Succeeded")], False),
        ({"minAvailable": 1}, [A, pod("b", app="other")], False),
        ({"minAvailable": 1}, [SICK, B], True),
        ({"minAvailable": 2}, [SICK, B], False),
        ({"minAvailable": 5}, [pod("a", phase="Pending")], True),
    ],
)
def test_whether_the_first_pod_may_go(spec, pods, may_go):
    """Source: Kubernetes docs, "Specifying a Disruption Budget", with the default IfHealthyBudget for sick pods."""
    refused = nullcontext() if may_go else pytest.raises(BudgetExhausted, match="The disruption budget web needs")
    with refused:
        check_budgets(pods[0], [budget(**spec)], pods)


def test_percentages_are_refused_and_not_guessed():
    with pytest.raises(Rejected, match="percentages are not kept in memory"):
        check_budgets(A, [budget(minAvailable="50%")], [A])
