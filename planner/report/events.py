"""Events of a round: pods without a place, pools that cannot buy, objects that cannot be read."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from api.meta import Condition
from api.v1alpha1.node_pool import NodePoolStatus
from planner.model.plan import BlockedMachine, KeptMachine, PlannedEvent, PoolReport, Problem, Snapshot, Unplaced
from planner.objects.eviction import misread_of_node
from planner.objects.kinds import Pod
from planner.report.pool_report import (
    BUDGETS_INVALID,
    DEAD_NODES,
    FAILING_NODES,
    FROZEN,
    MISFITS,
    MOST_UNREADY,
    POOL_PAUSED,
    SCHEDULE_INVALID,
)
from planner.report.price_limit import passed_price_limit
from planner.supply.machine_kind import POOL_FROZEN

EVENTS_PER_ROUND: Final = 50
"""More would flood the API server; what is left is summed on the pool. Source: docs/design.md#events."""
_BACK_OFF: Final = "BackOff"
_UNKNOWN_ANNOTATION: Final = "UnknownAnnotation"
_TROUBLES: Final = frozenset(
    {"Blocked", DEAD_NODES, FAILING_NODES, MISFITS, POOL_PAUSED, BUDGETS_INVALID, SCHEDULE_INVALID, FROZEN}
)
"""Conditions of a pool that are troubles while they are True."""
_TOLD_AS_EVENTS: Final = frozenset({"Ready", "Blocked", DEAD_NODES, FAILING_NODES, BUDGETS_INVALID, SCHEDULE_INVALID})
HAS_LOCAL_DATA: Final = "HasLocalData"
"""Reason of the event on a Node that nothing but its data keeps."""
SCALE_DOWN_BLOCKED: Final = "ScaleDownBlocked"
"""Reason of the event on a Node that a policy would empty and that is kept."""


def events(
    snapshot: Snapshot,
    unplaced: Iterable[Unplaced],
    pools_of: Mapping[str, str],
    at_ceiling: Collection[str],
    reports: Iterable[PoolReport],
    *,
    kept_machines: Sequence[KeptMachine] = (),
    blocked: Sequence[BlockedMachine] = (),
) -> tuple[PlannedEvent, ...]:
    """Return at most `EVENTS_PER_ROUND` events for pods, then the sums on pools, then pools and broken objects.

    At most as many each tell of annotations that mean nothing, of empty machines that stay for their data, and of
    machines that a policy would empty and that are kept.

    `pools_of` names a pool by pod uid, where it has one. Pods of `at_ceiling`, by uid, get an event that
    their longest wait begins; others in back-off have had their event before.
    """
    unplaced = tuple(unplaced)
    pods = {pod.uid: pod for pod in snapshot.pods}
    # A pod that asks for too much is told of as one without a place.
    reported = {entry.uid for entry in unplaced}
    pod_events: list[PlannedEvent] = []
    left: Counter[str] = Counter()
    for entry in unplaced:
        pod = pods[entry.uid]
        if entry.uid in at_ceiling:
            reason = _BACK_OFF
        elif entry.reasons[0].code == _BACK_OFF:
            continue
        else:
            reason = entry.reasons[0].code
        if len(pod_events) < EVENTS_PER_ROUND:
            pod_events.append(_about_pod(pod, reason, "; ".join(r.message for r in entry.reasons)))
        elif entry.uid in pools_of:
            left[pools_of[entry.uid]] += 1
    return (
        *pod_events,
        *_sums(snapshot, left),
        *_about_pools(snapshot, reports),
        *islice(
            (_about_pod(pod, _UNKNOWN_ANNOTATION, pod.misread) for pod in snapshot.pods if pod.misread),
            EVENTS_PER_ROUND,
        ),
        *islice(_about_words_on_nodes(snapshot), EVENTS_PER_ROUND),
        *(_about_kept(machine) for machine in kept_machines[:EVENTS_PER_ROUND]),
        *(_about_blocked(machine) for machine in blocked[:EVENTS_PER_ROUND]),
        *(_about_problem(problem) for problem in snapshot.problems if not problem.uid or problem.uid not in reported),
    )


def _about_pod(pod: Pod, reason: str, message: str) -> PlannedEvent:
    return PlannedEvent("Pod", pod.name, pod.namespace, pod.uid, reason, message, warning=True)


def _sums(snapshot: Snapshot, left: Mapping[str, int]) -> Iterable[PlannedEvent]:
    for pool in snapshot.pools:
        name = pool.metadata.name
        if left.get(name):
            message = f"{left[name]} more pods have no place; `growth plan` names them with reasons"
            yield PlannedEvent("NodePool", name, None, pool.metadata.uid, "PodsUnplaced", message, warning=True)


def _about_pools(snapshot: Snapshot, reports: Iterable[PoolReport]) -> Iterable[PlannedEvent]:
    uids = {pool.metadata.name: pool.metadata.uid for pool in snapshot.pools}
    before = {pool.metadata.name: pool.status for pool in snapshot.pools}
    has_told_most = False
    for report in reports:
        for condition in report.status.conditions:
            is_about_most = condition.reason == MOST_UNREADY
            if passed_price_limit(before[report.name], condition) or _is_frozen_now(before[report.name], condition):
                yield PlannedEvent(
                    "NodePool", report.name, None, uids[report.name], condition.reason, condition.message, warning=True
                )
            # That most Nodes of the cluster are not Ready is told once, whatever pools have dead ones.
            if not _is_wrong(condition) or (is_about_most and has_told_most):
                continue
            has_told_most = has_told_most or is_about_most
            yield PlannedEvent(
                "NodePool",
                report.name,
                None,
                uids[report.name],
                condition.reason,
                condition.message,
                warning=True,
            )


def _is_frozen_now(before: NodePoolStatus, now: Condition) -> bool:
    """Return whether the pool was not frozen in the round before: that is told once."""
    known = next((each for each in before.conditions if each.type == FROZEN), None)
    return now.type == FROZEN and now.status == "True" and (known is None or known.status != "True")


def _is_wrong(condition: Condition) -> bool:
    # That a person has paused a pool needs no event each five minutes, nor does what is told by one of its own.
    return is_trouble(condition) and condition.type in _TOLD_AS_EVENTS and condition.reason != POOL_FROZEN


def is_trouble(condition: Condition) -> bool:
    """Return whether a person should know of this condition of a pool."""
    if condition.type == "Ready":
        return bool(condition.message) and condition.reason != "PoolDeleting"
    return condition.type in _TROUBLES and condition.status == "True"


def _about_kept(machine: KeptMachine) -> PlannedEvent:
    return PlannedEvent("Node", machine.node, None, machine.uid, HAS_LOCAL_DATA, f"It is not removed: {machine.why}")


def _about_blocked(machine: BlockedMachine) -> PlannedEvent:
    message = f"{machine.trigger} would remove it, and does not: {machine.reason}, {machine.why}"
    return PlannedEvent("Node", machine.node, None, machine.uid, SCALE_DOWN_BLOCKED, message)


def _about_words_on_nodes(snapshot: Snapshot) -> Iterable[PlannedEvent]:
    for node in snapshot.nodes:
        misread = misread_of_node(node.annotations)
        if misread:
            yield PlannedEvent("Node", node.name, None, node.uid, _UNKNOWN_ANNOTATION, misread, warning=True)


def _about_problem(problem: Problem) -> PlannedEvent:
    namespace, _, name = problem.name.rpartition("/")
    return PlannedEvent(
        problem.kind, name, namespace or None, problem.uid, problem.reason, problem.message, warning=True
    )
