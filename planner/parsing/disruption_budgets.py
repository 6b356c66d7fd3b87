"""PodDisruptionBudgets as the eviction API reads them.

Source: Kubernetes API reference, PodDisruptionBudget v1: a null selector selects no pods, an empty one all.
"""

from typing import Final

from planner.objects.disruption_budget import DisruptionBudget
from planner.parsing.json_part import Part
from planner.parsing.selectors import optional_selector

_WORDS: Final = 200
"""Of the disruption controller."""


def disruption_budget_from(root: Part) -> DisruptionBudget:
    """Return the PodDisruptionBudget.

    Raises:
        FieldError: a field cannot be read.
    """
    metadata, spec, status = root.part("metadata"), root.part("spec"), root.part("status")
    is_counted = root.has("status") and status.number("observedGeneration") >= metadata.number("generation")
    return DisruptionBudget(
        namespace=metadata.text("namespace") or "default",
        name=metadata.text("name"),
        selector=optional_selector(spec, "selector"),
        allowed=max(0, status.number("disruptionsAllowed")),
        is_counted=is_counted,
        healthy=status.number("currentHealthy"),
        needed=status.number("desiredHealthy"),
        problem=_problem(status),
        lets_unready_go=spec.text("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )


def _problem(status: Part) -> str:
    """Return what the disruption controller says of a count that failed; empty where it says nothing."""
    for condition in status.parts("conditions"):
        if condition.text("type") == "DisruptionAllowed" and condition.text("reason") == "SyncFailed":
            return " ".join(condition.text("message").split())[:_WORDS] or "SyncFailed"
    return ""
