"""Deadlines of waits: when they are judged, what they bring, and what the object says of one that has passed.

Time in which nobody could see, or no Node could join, counts for no wait: while the API server is away no Node joins
and no pod is bound, and while the worker is away nobody sees them. Judged at once afterwards, each machine that was on
its way would be given up and bought again.
Source: issue 16, B4: an outage of 60 s with time-outs of 40 s bought 24 machines instead of 9.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from api.meta import shown_time
from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.arrival.reservation import RELEASE_AFTER_READY
from planner.lifecycle.seen import LifecycleObservation, RequestTimings
from planner.lifecycle.step import SENTENCE_CHARACTERS, Act, Step, Wait, shortened

SEEN_FOR: Final = timedelta(minutes=2)
"""Nodes that could not join meanwhile have done so by then; a wait that is shorter has all of its time again."""
LATE: Final = "Late"
"""Reason of an object whose deadline has passed and that is still awaited; its message says why, and until when."""


def with_grace(status: NodeRequestStatus, timings: RequestTimings, watched_since: datetime | None) -> NodeRequestStatus:
    """Return the status with the deadlines at which its waits are judged.

    Args:
        status: of a request.
        timings: of its pool.
        watched_since: since when worker and API server are there without a break; None where that is not known.
    """
    if watched_since is None:
        return status
    wholes = {
        "provisioning_deadline": timings.provisioning_timeout,
        "join_deadline": timings.join_timeout,
        "release_by": RELEASE_AFTER_READY,
    }
    later: dict[str, datetime] = {}
    for name, whole in wholes.items():
        deadline: datetime | None = getattr(status, name)
        judged_at = watched_since + min(SEEN_FOR, whole)
        if deadline is not None and deadline < judged_at:
            later[name] = judged_at
    return status.model_copy(update=later) if later else status


def named_deadline(status: NodeRequestStatus) -> datetime | None:
    """Return the deadline that a request names for what it waits for, None where it names none."""
    match status.phase:
        case RequestPhase.PROVISIONING:
            return status.provisioning_deadline if status.running_at is None else status.join_deadline
        case RequestPhase.READY if status.released_at is None:
            return status.release_by
        case _:
            return None


def with_consequence(step: Step, decide: Callable[[datetime], Step], words: Mapping[str, str]) -> Step:
    """Return a wait with what its deadline brings if nothing changes until then; other steps as they are.

    The step function itself says what that is: a sentence written beside it could promise what it does not do.

    Args:
        step: the next step.
        decide: returns the step of the same observation at another time.
        words: what effects do, as the rest of a sentence on the deadline.
    """
    if not isinstance(step, Wait) or step.until is None:
        return step
    then = decide(step.until)
    if isinstance(then, Wait):
        consequence = f"After the deadline: {then.message}"
    elif isinstance(then, Act) and then.effect in words:
        consequence = f"At the deadline {words[then.effect].replace('{message}', then.message)}"
    else:
        consequence = f"At the deadline: {then.message}"
    # Others' words in front may be long: they are cut, and not what comes.
    consequence = shortened(consequence, SENTENCE_CHARACTERS // 2)
    awaited = shortened(step.message, SENTENCE_CHARACTERS - len(consequence) - 2)
    return step.model_copy(update={"message": f"{awaited}. {consequence}"})


def told_late(step: Step, seen: LifecycleObservation, now: datetime, effect: str, why: str = "") -> Step:
    """Return the step that tells on the object of a deadline that it names and that has passed, else `step`.

    Args:
        step: the next step.
        seen: what it was decided on.
        now: the time, UTC.
        effect: writes reason and message on the object.
        why: it is awaited longer, where the step does not say so, as the rest of a sentence.
    """
    named = seen.named_deadline
    if not isinstance(step, Wait) or named is None or now < named:
        return step
    until = "" if step.until is None else f" until {shown_time(step.until)}"
    reason = f", as {why}" if why else ""
    if seen.status.reason == LATE and until in seen.status.message:
        return step
    message = f"Due at {shown_time(named)}, and still awaited{until}{reason}. {step.message}"
    return Act(effect=effect, reason=LATE, message=shortened(message))
