"""Counts what comes of objects with a lifecycle, by the activities that end them or set them aside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.kinds import REMOVAL, REQUEST, LifecycleKind
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import Act, EffectInput
from worker.metrics import REMOVALS, REQUESTS, Metric, counter

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


def outcome_counter() -> Callable[[str, Any, Any], None]:
    """Return the function that takes an activity that succeeded: its type, input and result."""
    rows = {row.lifecycle.seen: (row, counter(row.metric)) for row in COUNTED}

    def note(effect: str, given: Any, seen: Any) -> None:
        if not isinstance(given, EffectInput) or given.act is None or type(seen) not in rows:
            return
        row, outcomes = rows[type(seen)]
        outcome = row.outcome(effect, given.act, seen)
        if outcome:
            outcomes.add(1, {"outcome": outcome})

    return note
