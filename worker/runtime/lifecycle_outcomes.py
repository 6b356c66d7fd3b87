"""Counts what comes of objects with a lifecycle, by the activities that end them or set them aside."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.kinds import REMOVAL, REQUEST, LifecycleKind
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import Act, EffectInput
from worker.metric import Labels, Metric, counter, histogram
from worker.metrics import DRAIN, MACHINE_START, REMOVALS, REQUESTS

_DECIDES: Final = (
    RequestEffect.CREATE_SERVER,
    RequestEffect.MARK_UNMET,
    RequestEffect.MARK_READY,
    RequestEffect.GIVE_UP,
)
"""Effects that lead a request to one of these phases, each once in its lifecycle."""
_DECIDED: Final = (RequestPhase.READY, RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING)
_ENDS: Final = (RemovalEffect.FINISH, RemovalEffect.ABANDON, RemovalEffect.SKIP)


@dataclass(frozen=True, slots=True)
class CountedKind:
    """A lifecycle kind whose outcomes are counted."""

    lifecycle: LifecycleKind[Any]
    metric: Metric
    outcome: Callable[[str, Act, Any], str | None]
    """The outcome that an effect has led an object to: its name, the step that asked for it, what was seen then."""


def _outcome_of_request(effect: str, _act: Act, seen: RequestObservation) -> str | None:
    is_decided = effect in _DECIDES and seen.exists and seen.status.phase in _DECIDED
    return seen.status.phase.value if is_decided else None


def _outcome_of_removal(effect: str, act: Act, seen: RemovalObservation) -> str | None:
    if effect == RemovalEffect.PARK:
        is_parked = seen.exists and seen.status.phase is RemovalPhase.COULD_NOT_REMOVE
        return RemovalPhase.COULD_NOT_REMOVE.value if is_parked else None
    return act.reason if effect in _ENDS and not seen.exists else None


COUNTED: Final = (
    CountedKind(REQUEST, REQUESTS, _outcome_of_request),
    CountedKind(REMOVAL, REMOVALS, _outcome_of_removal),
)


@dataclass(frozen=True, slots=True)
class TimedStep:
    """An effect that ends what takes time."""

    effect: str
    metric: Metric
    labels: Labels
    times: Callable[[Any], tuple[datetime | None, datetime | None]]
    """When it began and ended, of the status after the effect."""


def _drained(status: NodeRemovalRequestStatus) -> tuple[datetime | None, datetime | None]:
    ends = (each.last_transition_time for each in status.conditions if each.type == "Drained" and each.status == "True")
    return status.drain_started_at, next(ends, None)


TIMED: Final = (
    TimedStep(
        RequestEffect.REGISTER_NODE,
        MACHINE_START,
        {"until": "registered"},
        lambda status: (status.create_attempt_at, status.registered_at),
    ),
    TimedStep(
        RequestEffect.MARK_READY,
        MACHINE_START,
        {"until": "ready"},
        lambda status: (status.create_attempt_at, status.ready_at),
    ),
    TimedStep(RemovalEffect.COMMIT, DRAIN, {}, _drained),
)


def outcome_counter() -> Callable[[str, Any, Any], None]:
    """Return the function that takes an activity that succeeded: its type, input and result."""
    rows = {row.lifecycle.seen: (row, counter(row.metric)) for row in COUNTED}
    clocks = {metric.name: histogram(metric) for metric in (MACHINE_START, DRAIN)}
    timed = {row.effect: row for row in TIMED}

    def note(effect: str, given: Any, seen: Any) -> None:
        if not isinstance(given, EffectInput) or given.act is None or type(seen) not in rows:
            return
        row, outcomes = rows[type(seen)]
        outcome = row.outcome(effect, given.act, seen)
        if outcome:
            outcomes.add(1, {"outcome": outcome})
        step = timed.get(effect)
        if step is not None and seen.exists:
            began, ended = step.times(seen.status)
            # A clock that was set back in between tells nothing.
            if began is not None and ended is not None and ended >= began:
                clocks[step.metric.name].record((ended - began).total_seconds(), step.labels)

    return note
