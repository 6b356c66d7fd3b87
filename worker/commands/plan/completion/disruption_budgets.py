"""PodDisruptionBudgets written by hand, with the status that the disruption controller would give them.

Source: Kubernetes docs, "Specifying a Disruption Budget for your Application": percentages are rounded up. Controllers
are taken to want as many pods as the files hold.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from planner.objects.disruption_budget import DisruptionBudget
from planner.objects.predicates import selects
from planner.parsing.disruption_budgets import disruption_budget_from
from planner.parsing.json_part import FieldError, Part
from worker.commands.plan.objects import Json

_PERCENT: Final = re.compile(r"([0-9]{1,3})%")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


def counted(budget: Json, pods: Iterable[Json]) -> Json:
    """Return the budget with a status; as it is if it has one, or cannot be read: whoever reads it tells why."""
    if "status" in budget:
        return budget
    try:
        known = disruption_budget_from(Part(budget))
    except FieldError:
        return budget
    spec = budget.get("spec")
    own = [pod for pod in pods if _is_under(pod, known)]
    healthy = sum(_is_ready(pod) for pod in own)
    needed = _needed(spec if isinstance(spec, dict) else {}, len(own))
    if needed is None:
        return budget
    status = {
        "observedGeneration": _part(budget, "metadata").get("generation", 0),
        "expectedPods": len(own),
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "disruptionsAllowed": max(0, healthy - needed),
    }
    return {**budget, "status": status}


def _needed(spec: Json, expected: int) -> int | None:
    """Return how many pods must be Ready, None where the budget says something that cannot be read."""
    if "minAvailable" in spec:
        return _amount(spec["minAvailable"], expected)
    gone = _amount(spec.get("maxUnavailable", 0), expected)
    return None if gone is None else max(0, expected - gone)


def _amount(value: Any, expected: int) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else -(-expected * int(match[1]) // 100)


def _is_under(pod: Json, budget: DisruptionBudget) -> bool:
    metadata = _part(pod, "metadata")
    labels = metadata.get("labels")
    return (
        budget.selector is not None
        and (metadata.get("namespace") or "default") == budget.namespace
        and _part(pod, "status").get("phase") not in _ENDED
        and selects(budget.selector, labels if isinstance(labels, dict) else {})
    )


def _is_ready(pod: Json) -> bool:
    conditions = _part(pod, "status").get("conditions")
    ready = {"type": "Ready", "status": "True"}.items()
    return "deletionTimestamp" not in _part(pod, "metadata") and any(
        isinstance(one, dict) and ready <= one.items() for one in (conditions if isinstance(conditions, list) else ())
    )


def _part(item: Json, name: str) -> Mapping[str, Any]:
    part = item.get(name)
    return part if isinstance(part, dict) else {}
