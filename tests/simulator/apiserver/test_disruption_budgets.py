"""Budgets in memory, beyond what the conformance suite compares with the real disruption controller."""

from contextlib import nullcontext

import pytest

from activities.ports.errors import BudgetExhausted, Rejected
from simulator.apiserver.disruption_budgets import check_budgets
from tests.builders import disruption_budget, pod

LABELS = {"app": "web"}


def web(name, *, ready=True, labels=LABELS, **more):
    return pod(name, node="n", ready=ready, labels=labels, **more)


A, B, C = (web(name) for name in "abc")
SICK = web("a", ready=False)


@pytest.mark.parametrize(
    ("spec", "pods", "may_go"),
    [
        ({"minAvailable": 2}, [A, B, C], True),
        ({"minAvailable": 3}, [A, B, C], False),
        ({"maxUnavailable": 1}, [A, B, C], True),
        ({"maxUnavailable": 1}, [A, B, web("c", ready=False)], False),
        ({"maxUnavailable": 1}, [A, B, web("c", deleting=True)], False),
        ({"maxUnavailable": 0}, [A, B, C], False),
        ({}, [A, B, C], True),
        ({"minAvailable": 1}, [A, web("b", phase="Succeeded")], False),
        ({"minAvailable": 1}, [A, web("b", labels={"app": "other"})], False),
        ({"minAvailable": 1}, [SICK, B], True),
        ({"minAvailable": 2}, [SICK, B], False),
        ({"minAvailable": 5}, [web("a", phase="Pending")], True),
    ],
)
def test_whether_the_first_pod_may_go(spec, pods, may_go):
    """Source: Kubernetes docs, "Specifying a Disruption Budget", with the default IfHealthyBudget for sick pods."""
    refused = nullcontext() if may_go else pytest.raises(BudgetExhausted, match="The disruption budget web needs")
    with refused:
        check_budgets(pods[0], [disruption_budget("web", **spec)], pods)


def test_percentages_are_refused_and_not_guessed():
    with pytest.raises(Rejected, match="percentages are not kept in memory"):
        check_budgets(A, [disruption_budget("web", minAvailable="50%")], [A])
