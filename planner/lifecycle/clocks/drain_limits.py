"""How long a drain may last that a round began: until it is given up, or until its last pods are forced to end.

A drain that a person ordered has no limit but the pool's hardGrace (decision 6). One that a round began is worth its
end only: what it saves is gone while it waits, so it is given up, and the node takes pods again. Where the pool gives a
terminationGracePeriod, the drain has come to its end by then: each pod is deleted early enough to have its own grace
until then, whatever keeps it. The time after which it is given up counts from then: a pod may not end even so.
Source: Karpenter docs, "Disruption: TerminationGracePeriod"; its issues 1776, 2802 (drains that never end).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from api.meta import shown_time
from api.v1alpha1.node_removal_request import NodeRemovalRequestStatus
from api.v1alpha1.removal_budget import EVICTING_REASONS
from planner.lifecycle.removal_effect import RemovalEffect
from planner.lifecycle.seen import DrainLimit, RemovalObservation, RemovalTimings
from planner.lifecycle.step import SENTENCE_CHARACTERS, Act, Step, Wait, shortened

DRAIN_TIMEOUT: Final = timedelta(minutes=15)
"""Where the pool says nothing. Source: Cluster Autoscaler, which gives a drain 10 min, and its pods their own end."""
TOLD_BEFORE: Final = timedelta(days=1)
"""So long before the first pod is forced, people hear of it; at the beginning of a drain that is shorter."""
TIMED_OUT: Final = "DrainTimedOut"
"""Who cancels a removal whose drain takes too long."""
FORCED_LATER: Final = "ForcedLater"
"""Reason of the events that tell pods and Node until when they have time."""


@dataclass(frozen=True, slots=True)
class DrainLimits:
    """The limits of a drain that has begun."""

    deadline: datetime | None = None
    """By when the last pods have ended, whatever keeps them."""
    given_up_at: datetime | None = None


UNLIMITED: Final = DrainLimits()


def drain_limits(reason: str, status: NodeRemovalRequestStatus, timings: RemovalTimings) -> DrainLimits:
    """Return the limits of the drain of a removal with this reason; a person's has none of them."""
    began, grace = status.drain_started_at, timings.termination_grace_period
    if began is None or reason not in EVICTING_REASONS:
        return UNLIMITED
    deadline = None if grace is None else began + grace
    return DrainLimits(deadline, (deadline or began) + (timings.drain_timeout or DRAIN_TIMEOUT))


def hard_deadline(seen: RemovalObservation) -> datetime | None:
    """Return the time from which pods are deleted whatever keeps them, or None if never.

    In a person's drain it counts from its beginning; where pods were waited for, from the taint.
    """
    if seen.awaited is not None:
        return seen.awaited.until
    began, grace = seen.status.drain_started_at, seen.timings.hard_grace
    return None if began is None or grace is None else began + grace


def next_limit(
    limits: DrainLimits, status: NodeRemovalRequestStatus, force_at: datetime | None, now: datetime
) -> tuple[DrainLimit, datetime] | None:
    """Return the limit that comes next, and when; of those that are due, the first of their order. None without any.

    Args:
        limits: of the drain.
        status: of the removal.
        force_at: when the next pod is forced, None if none is.
        now: the time.
    """
    deadline = limits.deadline
    is_told = deadline is None or status.forced_at == deadline
    times = {
        DrainLimit.GIVEN_UP: limits.given_up_at,
        DrainLimit.TELL: None if deadline is None or is_told else min(deadline, force_at or deadline) - TOLD_BEFORE,
        DrainLimit.FORCE: force_at if is_told else None,
    }
    known = [(limit, at) for limit, at in times.items() if at is not None]
    due = [(limit, at) for limit, at in known if at <= now]
    return due[0] if due else min(known, key=lambda one: one[1], default=None)


def is_due(seen: RemovalObservation, limit: DrainLimit, now: datetime) -> bool:
    """Return whether the limit has come."""
    return seen.drain.limit is limit and seen.drain.limit_at is not None and now >= seen.drain.limit_at


def told_deadline(seen: RemovalObservation, now: datetime) -> Step | None:
    """Return the step that tells pods and Node when they are forced, None if it is not time yet or they know."""
    if not is_due(seen, DrainLimit.TELL, now):
        return None
    deadline = seen.drain.deadline or seen.drain.limit_at or now
    return Act(
        effect=RemovalEffect.TELL_DEADLINE,
        reason=FORCED_LATER,
        message=f"No pod stays on the node after {shown_time(deadline)}: each is deleted early enough to end by then, "
        "whatever keeps it",
        until=deadline,
    )


def given_up(seen: RemovalObservation, now: datetime) -> Act | None:
    """Return the step that gives up a drain whose time is over, None where it goes on or nothing keeps the node."""
    if not is_due(seen, DrainLimit.GIVEN_UP, now) or not _is_kept(seen):
        return None
    pods = "1 pod is" if seen.occupant_count == 1 else f"{seen.occupant_count} pods are"
    left = f"{pods} still on it: {', '.join(seen.occupants)}" if seen.occupant_count else "a pod of its own stays"
    refusal = seen.status.message if seen.status.evict_attempts else seen.per_node_pods.refusal
    why = ", ".join(seen.drain.blockers) or refusal
    message = f"Not drained by {shown_time(seen.drain.limit_at or now)}, {left}" + (f". {why}" if why else "")
    return Act(
        effect=RemovalEffect.CANCEL, reason=TIMED_OUT, message=shortened(message, SENTENCE_CHARACTERS), by=TIMED_OUT
    )


def until_limit(step: Step, seen: RemovalObservation, now: datetime) -> Step:
    """Return a wait that ends at the next limit, should that come first; other steps as they are."""
    if not isinstance(step, Wait):
        return step
    at = seen.drain.limit_at
    if at is None or at <= now or not _is_kept(seen):
        return step
    return step.model_copy(update={"until": at if step.until is None else min(step.until, at)})


def _is_kept(seen: RemovalObservation) -> bool:
    return bool(seen.occupant_count or seen.per_node_pods.refusal)
