"""Counts what comes of requests and removals, by the activities that end them or set them aside."""

from collections.abc import Callable
from typing import Any, Final

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RemovalObservation, RequestObservation
from planner.lifecycle.step import EffectInput
from worker.metrics import REMOVALS, REQUESTS, counter

_DECIDES: Final = (
    RequestEffect.CREATE_SERVER,
    RequestEffect.MARK_UNMET,
    RequestEffect.MARK_READY,
    RequestEffect.GIVE_UP,
)
"""Effects that lead a request to one of these phases, each once in its lifecycle."""
_DECIDED: Final = (RequestPhase.READY, RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING)
_ENDS: Final = (RemovalEffect.FINISH, RemovalEffect.ABANDON, RemovalEffect.SKIP)


def outcome_of_request(effect: str, seen: RequestObservation) -> str | None:
    """Return the outcome that an effect has led a request to, None if it has led to none."""
    is_decided = effect in _DECIDES and seen.exists and seen.status.phase in _DECIDED
    return seen.status.phase.value if is_decided else None


def outcome_of_removal(effect: str, reason: str, seen: RemovalObservation) -> str | None:
    """Return the outcome that an effect, asked for with a reason, has led a removal to, None if to none."""
    if effect == RemovalEffect.PARK:
        is_parked = seen.exists and seen.status.phase is RemovalPhase.COULD_NOT_REMOVE
        return RemovalPhase.COULD_NOT_REMOVE.value if is_parked else None
    return reason if effect in _ENDS and not seen.exists else None


def outcome_counter() -> Callable[[str, Any, Any], None]:
    """Return what takes an activity that succeeded: its type, input and result."""
    requests, removals = counter(REQUESTS), counter(REMOVALS)

    def note(effect: str, given: Any, seen: Any) -> None:
        if not isinstance(given, EffectInput) or given.act is None:
            return
        if isinstance(seen, RequestObservation) and (outcome := outcome_of_request(effect, seen)):
            requests.add(1, {"outcome": outcome})
        elif isinstance(seen, RemovalObservation) and (outcome := outcome_of_removal(effect, given.act.reason, seen)):
            removals.add(1, {"outcome": outcome})

    return note
