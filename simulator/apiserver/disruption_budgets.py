"""PodDisruptionBudgets as the eviction API honours them, worked out anew for each eviction.

Source: Kubernetes docs, "Specifying a Disruption Budget for your Application" and "API-initiated Eviction". An eviction
does not wait for the status of the disruption controller: it counts what is there at that moment. Whole numbers only.
"""

from collections.abc import Iterable

from activities.ports.cluster import Object
from activities.ports.errors import BudgetExhausted, Rejected
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.fit import selects
from simulator.scheduling.pod_request import occupies


def check_budgets(pod: Object, budgets: Iterable[Object], pods: Iterable[Object]) -> None:
    """Return if the pod may be evicted; `budgets` and `pods` are those of its namespace.

    Raises:
        BudgetExhausted: a budget does not let it go now, or more than one is about it.
        Rejected: a budget counts in percent, which is not kept in memory.
    """
    about = [budget for budget in budgets if _is_about(budget, pod)]
    if not about or pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
        return
    refused = f"evict pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
    if len(about) > 1:
        raise BudgetExhausted(f"{refused}: This pod has more than one PodDisruptionBudget")
    (budget,) = about
    name = budget["metadata"]["name"]
    _, healthy, needed = _counts(budget, pods)
    # One that is not healthy takes nothing from those that are.
    if healthy - _is_healthy(pod) < needed:
        raise BudgetExhausted(
            f"{refused}: The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
        )


def status_of(budget: Object, pods: Iterable[Object]) -> Object:
    """Return the status that the disruption controller gives the budget; `pods` are those of its namespace."""
    expected, healthy, needed = _counts(budget, pods)
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "disruptionsAllowed": max(0, healthy - needed),
    }


def _counts(budget: Object, pods: Iterable[Object]) -> tuple[int, int, int]:
    """Return how many pods the budget is about, how many of them are healthy, and how many must be."""
    alike = [one for one in pods if occupies(one) and _is_about(budget, one)]
    return len(alike), sum(_is_healthy(one) for one in alike), _needed(budget, len(alike))


def _is_about(budget: Object, pod: Object) -> bool:
    return selects(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})


def _needed(budget: Object, expected: int) -> int:
    spec = budget["spec"]
    at_least, at_most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if isinstance(at_least, str) or isinstance(at_most, str):
        raise Rejected(f"PodDisruptionBudget {budget['metadata']['name']}: percentages are not kept in memory")
    if at_least is not None:
        return int(at_least)
    return max(0, expected - int(1 if at_most is None else at_most))


def _is_healthy(pod: Object) -> bool:
    return condition_status(pod, "Ready") == "True" and "deletionTimestamp" not in pod["metadata"]
