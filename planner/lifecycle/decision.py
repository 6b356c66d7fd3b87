"""Decisions of people about a removal: those that have an effect now, and answers to the others.

A decision comes as a message (`planner.lifecycle.step.Decision`), or stands on the object as an
annotation, for people who have kubectl only. Both have the same effect. An annotation stays until
its removal ends or it is answered, so that a decision never acts in a later phase than its own.
"""

from collections.abc import Mapping
from typing import Final

from api.keys import ANNOTATION_DECISION, ANNOTATION_DECISION_REASON
from api.model import Payload
from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.seen import DecisionSeen, RemovalObservation
from planner.lifecycle.step import Decision, DecisionKind

RETRIED: Final = "Retry"
"""Reason of a removal whose deletion was begun anew."""
TAKEN: Final = "DecisionTaken"
REFUSED: Final = "DecisionRefused"
UNKNOWN: Final = "DecisionUnknown"

_WORD_CHARACTERS: Final = 64
_BY_CHARACTERS: Final = 64
_REASON_CHARACTERS: Final = 512


class DecisionAnswer(Payload):
    """The answer with which an annotation is taken off."""

    reason: str
    """DecisionTaken, which needs no event, as carrying it out made one; DecisionRefused or DecisionUnknown."""
    message: str
    """A sentence that names annotation and value and says what can be done instead."""


def refusal(seen: RemovalObservation, kind: DecisionKind) -> str | None:
    """Return the reason why a decision of this kind has no effect now, and what helps instead; None if it has one."""
    phase = seen.status.phase
    if not seen.exists:
        return f"cannot {kind}: the removal has ended, nothing is left to decide"
    if kind is not DecisionKind.CANCEL:
        return None if phase is RemovalPhase.COULD_NOT_REMOVE else _not_parked(seen, kind)
    if seen.immediate:
        return (
            "cannot cancel: the removal is immediate, as its machine was given up before pods could use it; "
            "pods that need one get another"
        )
    if seen.status.cancel is not None or phase.is_reversible:
        return None
    if phase is RemovalPhase.COULD_NOT_REMOVE:
        return "too late to cancel: the server could not be deleted; abandon it to keep it, or retry or skip"
    return "too late to cancel: the server is being deleted; pods that need a machine get another"


def decision_on(annotations: Mapping[str, str], *, by: str | None = None) -> DecisionSeen | None:
    """Return the decision that a removal's annotations ask for, or None if they ask for none.

    Args:
        annotations: of the NodeRemovalRequest.
        by: who wrote it, if known.
    """
    if ANNOTATION_DECISION not in annotations:
        return None
    return DecisionSeen(
        word=" ".join(annotations[ANNOTATION_DECISION].split())[:_WORD_CHARACTERS],
        reason=annotations.get(ANNOTATION_DECISION_REASON, "")[:_REASON_CHARACTERS],
        **({"by": by[:_BY_CHARACTERS]} if by else {}),
    )


def annotated(seen: RemovalObservation) -> Decision | None:
    """Return the annotation's decision if it has an effect now."""
    written = seen.decision
    kind = None if written is None else written.kind
    if written is None or kind is None or refusal(seen, kind) is not None:
        return None
    reason = written.reason
    if kind is DecisionKind.CANCEL:
        reason = reason or "Cancelled by annotation"
    return Decision(kind=kind, by=written.by, reason=reason)


def answer(seen: RemovalObservation) -> DecisionAnswer | None:
    """Return the answer with which to take the annotation off, or None while there is none or it has an effect."""
    if seen.decision is None:
        return None
    written = f"{ANNOTATION_DECISION}={seen.decision.word}"
    kind = seen.decision.kind
    if kind is None:
        return DecisionAnswer(reason=UNKNOWN, message=f"{written} is no decision: say {', '.join(DecisionKind)}")
    why = refusal(seen, kind)
    if why is None:
        return None
    if kind is DecisionKind.RETRY and seen.status.reason == RETRIED and not seen.status.removal_attempts:
        return DecisionAnswer(reason=TAKEN, message=f"{written} was carried out")
    return DecisionAnswer(reason=REFUSED, message=f"{written} has no effect: {why}")


def _not_parked(seen: RemovalObservation, kind: DecisionKind) -> str:
    """Return the reason why a decision for parked removals has no effect before."""
    if seen.status.phase is RemovalPhase.DEPROVISIONING:
        return (
            f"cannot {kind}: the removal is not parked, its server is being deleted; "
            "wait until it is gone or the phase is CouldNotRemove"
        )
    if seen.immediate or seen.status.cancel is not None:
        return f"cannot {kind}: the removal is not parked, it goes on by itself"
    does = "drains its node" if seen.status.phase is RemovalPhase.DRAINING else "cools off"
    return f"cannot {kind}: the removal is not parked, it {does}; cancel it to keep the machine"
