"""Outcomes of each effect: a step function cannot know them, because the effect finds them out.

Declared for the drawing in docs/lifecycles.md; `tests/activities/requests/test_create_outcome.py` proves each row on a
cluster in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.drain import Refusal
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.request import NAME_TAKEN, QUOTA_EXCEEDED, RequestEffect

GONE: Final = "gone"
"""The object exists no more."""
STAYS: Final = ""
"""The phase is the same as before."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an effect may end."""

    phase: str
    """The phase afterwards, `GONE`, or `STAYS`."""
    reason: str = ""
    """The reason on the object, where it is the effect's own word; empty where it is the step's."""
    message: str = ""
    """What that word says, as a sentence."""


_RATE_LIMITED: Final = "The provider got too many calls and did not carry it out: it does not count, and is repeated."
_STAYS: Final = (Outcome(STAYS),)
_GONE: Final = (Outcome(GONE),)

REQUEST_OUTCOMES: Final[Mapping[RequestEffect, tuple[Outcome, ...]]] = {
    RequestEffect.CREATE_SERVER: (
        Outcome(RequestPhase.PROVISIONING, "Launched", "The server was created; it shall run."),
        Outcome(
            STAYS, "UnknownOutcome", "The provider gave no answer: the server may exist, and the call is repeated."
        ),
        Outcome(STAYS, "RateLimited", _RATE_LIMITED),
        Outcome(RequestPhase.UNMET, "InsufficientCapacity", "The provider has none left of this offering."),
        Outcome(
            RequestPhase.UNMET, "CreateRefused", "The provider refuses it each time, for a reason that is not known."
        ),
        Outcome(
            RequestPhase.UNMET,
            QUOTA_EXCEEDED,
            "The account may not have more servers: for a while nothing of the class is bought.",
        ),
        Outcome(
            RequestPhase.FAILED, "InvalidConfiguration", "Pool, class, type or image is wrong: a person must mend it."
        ),
        Outcome(RequestPhase.FAILED, "AuthenticationFailed", "The provider does not take the credentials."),
        Outcome(RequestPhase.FAILED, "Unreadable", "The pool cannot be read; the message names the field."),
        Outcome(RequestPhase.FAILED, NAME_TAKEN, "A server or Node of that name exists and is another's."),
        Outcome(
            RequestPhase.DEPROVISIONING,
            "CapacityAfterUnknown",
            "No capacity now, but an earlier call may have made a server: its removal makes certain.",
        ),
        Outcome(
            RequestPhase.DEPROVISIONING,
            "ConfigurationAfterUnknown",
            "Refused now, but an earlier call may have made a server: its removal makes certain.",
        ),
    ),
    RequestEffect.MARK_UNMET: (Outcome(RequestPhase.UNMET),),
    RequestEffect.MARK_RUNNING: _STAYS,
    RequestEffect.REGISTER_NODE: _STAYS,
    RequestEffect.TOLERATE_PODS: (
        *_STAYS,
        Outcome(STAYS, "PodsRefused", "The planned pods may not be let onto the kept node, so it opens for all."),
    ),
    RequestEffect.MARK_READY: (Outcome(RequestPhase.READY),),
    RequestEffect.MARK_TRIED: _STAYS,
    RequestEffect.MARK_SETTLED: _STAYS,
    RequestEffect.RELEASE_NODE: _STAYS,
    RequestEffect.GIVE_UP: (Outcome(RequestPhase.DEPROVISIONING),),
    RequestEffect.HAND_OVER: (
        *_GONE,
        Outcome(
            RequestPhase.PROVISIONING,
            "InTime",
            "At the last moment the node turned Ready or had a pod bound to it: the machine stays.",
        ),
    ),
    RequestEffect.FINISH: _GONE,
    RequestEffect.TELL_DELAY: _STAYS,
    RequestEffect.FORGET: _GONE,
}

REMOVAL_OUTCOMES: Final[Mapping[RemovalEffect, tuple[Outcome, ...]]] = {
    RemovalEffect.TAINT_NODE: _STAYS,
    RemovalEffect.ANSWER: _STAYS,
    RemovalEffect.CANCEL: _STAYS,
    RemovalEffect.UNTAINT_NODE: _STAYS,
    RemovalEffect.DRAIN: (Outcome(RemovalPhase.DRAINING),),
    RemovalEffect.TELL_BLOCKERS: _STAYS,
    RemovalEffect.TELL_DEADLINE: _STAYS,
    RemovalEffect.EVICT: (
        *_STAYS,
        Outcome(STAYS, Refusal.BUDGET, "A PodDisruptionBudget does not let a pod go now; the message names both."),
        Outcome(STAYS, Refusal.SERVER, "The API server refuses an eviction; the message has its answer."),
    ),
    RemovalEffect.LEAVE_BALANCERS: _STAYS,
    RemovalEffect.COMMIT: (Outcome(RemovalPhase.DEPROVISIONING),),
    RemovalEffect.TELL_VOLUMES: _STAYS,
    RemovalEffect.DELETE_SERVER: (
        *_STAYS,
        Outcome(STAYS, "DeleteFailed", "The provider did not delete the server; the message has its answer."),
        Outcome(STAYS, "RateLimited", _RATE_LIMITED),
    ),
    RemovalEffect.DELETE_NODE: _STAYS,
    RemovalEffect.PARK: (Outcome(RemovalPhase.COULD_NOT_REMOVE),),
    RemovalEffect.RESUME: (Outcome(RemovalPhase.DEPROVISIONING),),
    RemovalEffect.ABANDON: _GONE,
    RemovalEffect.SKIP: _GONE,
    RemovalEffect.FINISH: _GONE,
    RemovalEffect.FORGET: _GONE,
}
