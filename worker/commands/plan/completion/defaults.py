"""Objects of files as a cluster would have them, so that those written by hand are planned like those of a dump.

A pod with a uid has been stored by an API server: it is taken as it is. Templates of pods never are complete.
"""

from dataclasses import dataclass
from typing import Any, Final

from planner.model.plan import Problem
from planner.parsing.limit_ranges import LimitRange
from worker.commands.plan.completion.admission import Admission
from worker.commands.plan.completion.claims import claims
from worker.commands.plan.completion.disruption_budgets import counted
from worker.commands.plan.objects import Json, Objects, key

_UNSCHEDULED: Final = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}
_RUNNING: Final = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@dataclass(frozen=True, slots=True)
class Completed:
    """What a cluster would have."""

    pods: list[Json]
    daemon_sets: list[Json]
    claims: list[Json]
    disruption_budgets: list[Json]
    limit_ranges: tuple[LimitRange, ...]
    """What DaemonSet pods to come get; waiting pods have it."""
    problems: list[Problem]
    """Objects that no API server would take."""
    notes: list[str]
    """What is missing to complete some of them."""


def completed(objects: Objects) -> Completed:
    """Return the objects of some files with what an API server and its controllers fill in.

    A pod without a status was written by hand: it counts as one that the scheduler found no place for, or that runs on
    its node. A PodDisruptionBudget without one is counted as the disruption controller would.
    """
    admission = Admission(objects)
    problems = admission.problems
    pods: list[Json] = []
    for pod in objects.of("Pod"):
        if problem := _emptiness("Pod", pod, "spec", pod.get("spec")):
            problems.append(problem)
        else:
            pods.append(_with_status(_admitted(pod, admission)))
    daemon_sets: list[Json] = []
    for daemon_set in objects.of("DaemonSet"):
        template = _template(daemon_set)
        if problem := _emptiness("DaemonSet", daemon_set, "spec.template.spec", template.get("spec")):
            problems.append(problem)
        else:
            daemon_sets.append(_with_runtime(daemon_set, template, admission))
    own_claims = claims(objects, pods)
    budgets = [counted(budget, pods) for budget in objects.of("PodDisruptionBudget")]
    return Completed(pods, daemon_sets, own_claims, budgets, admission.limit_ranges, problems, admission.notes())


def _emptiness(kind: str, item: Json, path: str, spec: Any) -> Problem | None:
    """Return that it has no containers: it would be planned as something that needs nothing."""
    if spec is None or (isinstance(spec, dict) and spec.get("containers") in (None, [])):
        return Problem(kind=kind, name=key(item), message=f"{path}.containers: at least one container is needed")
    return None


def _admitted(pod: Json, admission: Admission) -> Json:
    spec = pod["spec"]
    if not isinstance(spec, dict) or pod["metadata"].get("uid"):
        return pod
    name = key(pod)
    return {
        **pod,
        "spec": admission.with_priority(admission.with_runtime(admission.with_limits(spec, name), name), name),
    }


def _with_status(pod: Json) -> Json:
    spec = pod["spec"]
    is_bound = isinstance(spec, dict) and spec.get("nodeName")
    return pod if pod.get("status") else {**pod, "status": _RUNNING if is_bound else _UNSCHEDULED}


def _template(daemon_set: Json) -> Json:
    spec = daemon_set.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    return template if isinstance(template, dict) else {}


def _with_runtime(daemon_set: Json, template: Json, admission: Admission) -> Json:
    spec = template["spec"]
    if not isinstance(spec, dict):
        return daemon_set
    complete = admission.with_runtime(spec, f"DaemonSet {key(daemon_set)}")
    return {**daemon_set, "spec": {**daemon_set["spec"], "template": {**template, "spec": complete}}}
