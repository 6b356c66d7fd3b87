"""Time-outs and retries of activities, by what they call.

Every activity has a limit for one attempt. A lifecycle's activity is retried for `ASK_AGAIN_AFTER`;
then the step function is asked again, because a message or a deadline may have changed the answer
while the outside did not answer. So a lifecycle retries for ever and still obeys its deadlines.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from temporalio.common import RetryPolicy

from activities.ports.errors import GrowthError

PLAN_ROUND: Final = "plan_round"

HEARTBEAT: Final = timedelta(seconds=10)
"""The worker beats for its activities, so one that was killed is noticed after this and not after the whole limit."""
ASK_AGAIN_AFTER: Final = timedelta(minutes=2)
SHORTEST_PAUSE: Final = timedelta(seconds=5)
"""An activity gave up on errors that may pass: look again soon, the next time after twice as long …"""
LONGEST_PAUSE: Final = timedelta(minutes=1)
"""… and never later than this. After an error that does not pass, only a person's deed helps: always this long."""


@dataclass(frozen=True, slots=True)
class ActivityPolicy:
    """Limits of one activity."""

    start_to_close: timedelta
    """One attempt."""
    retry: RetryPolicy
    schedule_to_close: timedelta | None = None
    """All attempts together."""


def _final_errors(root: type[GrowthError]) -> list[str]:
    # Those of single providers may be loaded or not; each error also says of itself whether it may pass.
    is_known = root.__module__ == GrowthError.__module__
    names = [root.__name__] if is_known and not root.retryable else []
    for kind in root.__subclasses__():
        names += _final_errors(kind)
    return names


NON_RETRYABLE: Final = tuple(sorted(_final_errors(GrowthError)))
"""Repeating the same call cannot help; the step function decides on what is seen then."""

_TRANSIENT: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(minutes=1),
    non_retryable_error_types=NON_RETRYABLE,
)

PLAN: Final = ActivityPolicy(timedelta(seconds=45), RetryPolicy(maximum_attempts=1))
"""Never retried: the fence's 10 s are measured by the attempt itself, and the next round has another number.

45 s hold the reading of a large cluster, a wait for another replica's fence (15 s) and the writes (10 s).
"""


class Calls(StrEnum):
    """What a lifecycle's activity calls, which says how long it may take."""

    API_SERVER = "api server"
    """A few calls of the API server, each with a time-out of its own of a few seconds."""
    PROVIDER = "provider"
    """One call of the cloud with an HTTP time-out of 20 s, and the writes around it."""
    EVICTIONS = "evictions"
    """One call for each pod of a node, eight at a time, each with a time-out of its own of a few seconds."""


POLICIES: Final = {
    Calls.API_SERVER: ActivityPolicy(timedelta(seconds=30), _TRANSIENT, ASK_AGAIN_AFTER),
    Calls.PROVIDER: ActivityPolicy(timedelta(seconds=40), _TRANSIENT, ASK_AGAIN_AFTER),
    Calls.EVICTIONS: ActivityPolicy(timedelta(seconds=100), _TRANSIENT, ASK_AGAIN_AFTER),
}


def pause_after(failures: int, *, final: bool) -> timedelta:
    """Return the pause after the `failures`-th failure in a row, of an error that is final or may pass."""
    return LONGEST_PAUSE if final else min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** min(failures - 1, 10))
