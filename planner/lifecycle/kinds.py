"""The kinds of lifecycles, one row each: what every program that drives, starts or finds one asks of its kind.

A program never names two kinds beside each other: it loops over `KINDS`, or over a table of another room that is
keyed by the same row (`activities.objects.kinds`, `activities.registry`, `worker.temporal.sandbox`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from api.model import Payload
from api.v1alpha1.node_removal_request import RemovalPhase
from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle import removal, request
from planner.lifecycle.decision import refusal
from planner.lifecycle.departure.waiting import WAITS_FOR_PODS
from planner.lifecycle.json_predicates import is_terminating
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import BY_DELETION, RequestEffect
from planner.lifecycle.seen import LifecycleObservation, RemovalObservation, RequestObservation
from planner.lifecycle.step import Decision, DecisionKind, Step

Seen = TypeVar("Seen", bound=LifecycleObservation)


class ObjectId(Payload):
    """An object with a lifecycle."""

    name: str
    uid: str


def always(_item: Mapping[str, Any]) -> bool:
    """Return True: a workflow runs from an object's creation to its end."""
    return True


def never(_item: Mapping[str, Any]) -> bool:
    """Return False: no round waits for an object."""
    return False


def takes_none(_seen: LifecycleObservation, kind: DecisionKind) -> str:
    """Return the refusal of a kind that takes no decisions."""
    return f"cannot {kind}: its kind takes no decisions"


def tells_nothing(_name: str, _before: LifecycleObservation, _after: LifecycleObservation) -> None:
    """Return no reason for a round."""


@dataclass(frozen=True, slots=True, eq=False)
class LifecycleKind(Generic[Seen]):
    """A kind of object that a workflow drives."""

    name: str
    """Its kind in the API, such as NodeRequest."""
    word: str
    """A word for one of its objects, in logs and commands."""
    workflow: str
    """Type of its workflow. Histories hold it: it never changes."""
    id_prefix: str
    """First part of the ids of its workflows. It never changes either."""
    seen: type[Seen]
    """The observation that its activities return."""
    effects: type[StrEnum]
    """The names of its activities, the one that only looks among them."""
    look: str
    """The activity that only looks."""
    next_step: Callable[[Seen, Decision | None, datetime], Step]
    """Its step function: from the observation, the oldest decision that has an effect, and the time."""
    news: Callable[[str, Seen, Seen], str | None] = tells_nothing
    """The reason for a round at once, from an object's name and the observations before and after an effect."""
    refusal: Callable[[Seen, DecisionKind], str | None] = takes_none
    """Why a person's decision has no effect now; None if it has one."""
    needs_workflow: Callable[[Mapping[str, Any]], bool] = always
    """Whether something is under way for an object, as JSON: only then must its workflow run."""
    is_trouble: Callable[[str, str], bool] = lambda _phase, _reason: False
    """Whether a person should know of an object that enters a phase for a reason: one warning in the log."""
    is_open: Callable[[Mapping[str, Any]], bool] = never
    """Whether something about an object, as JSON, may soon change what a round decides."""

    def workflow_id(self, cluster: str, subject: ObjectId) -> str:
        """Return the id of the workflow of an object."""
        return f"{self.id_prefix}:{cluster}:{subject.name}:{subject.uid}"


_LOST: Final = (RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING)
"""The phases of a request whose machine does not come: its pods need another one."""
_UNREADY: Final = frozenset({RequestPhase.PENDING, RequestPhase.PROVISIONING, RequestPhase.DEPROVISIONING})


def _request_step(seen: RequestObservation, _decision: Decision | None, now: datetime) -> Step:
    # Looked up at each call, here and below: the campaign plants its faults in the modules of the step functions.
    return request.next_step(seen, now)


def _removal_step(seen: RemovalObservation, decision: Decision | None, now: datetime) -> Step:
    return removal.next_step(seen, decision, now)


def _request_news(name: str, before: RequestObservation, after: RequestObservation) -> str | None:
    if not after.exists:
        return f"request {name} ended" if before.exists else None
    if after.status.phase != before.status.phase and after.status.phase in _LOST:
        return f"request {name} is {after.status.phase}: {after.status.reason}"
    return None


def _removal_news(name: str, before: RemovalObservation, after: RemovalObservation) -> str | None:
    if not after.exists:
        return f"removal {name} ended" if before.exists else None
    if before.status.cancel is None and after.status.cancel is not None:
        return f"removal {name} was cancelled by {after.status.cancel.by}"
    return None


def _is_open_request(item: Mapping[str, Any]) -> bool:
    """Whether the machine is coming, going, or kept for pods that have not come."""
    status = item.get("status", {})
    phase = status.get("phase", RequestPhase.PENDING)
    is_awaiting = phase == RequestPhase.READY and "releasedAt" not in status
    return phase in _UNREADY or is_awaiting or is_terminating(item)


def _is_open_removal(item: Mapping[str, Any]) -> bool:
    status = item.get("status", {})
    # Pods that end by themselves may take days, and a message tells of each.
    return status.get("phase") != RemovalPhase.COULD_NOT_REMOVE and status.get("reason") != WAITS_FOR_PODS


REQUEST: Final = LifecycleKind(
    name="NodeRequest",
    word="request",
    workflow="NodeRequest",
    id_prefix="node-request",
    seen=RequestObservation,
    effects=RequestEffect,
    look=RequestEffect.LOOK,
    next_step=_request_step,
    news=_request_news,
    is_trouble=lambda phase, reason: phase in _LOST and reason not in BY_DELETION,
    is_open=_is_open_request,
)
REMOVAL: Final = LifecycleKind(
    name="NodeRemovalRequest",
    word="removal",
    workflow="NodeRemoval",
    id_prefix="node-removal",
    seen=RemovalObservation,
    effects=RemovalEffect,
    look=RemovalEffect.LOOK,
    next_step=_removal_step,
    news=_removal_news,
    refusal=refusal,
    is_trouble=lambda phase, _reason: phase == RemovalPhase.COULD_NOT_REMOVE,
    is_open=_is_open_removal,
)
KINDS: Final[tuple[LifecycleKind[Any], ...]] = (REQUEST, REMOVAL)
"""Every kind, in the order in which people are told of them."""
