"""Time in which nobody could see, or no Node could join, counts for no wait.

While the API server is away no Node joins and no pod is bound, and while the worker is away nobody sees them. Judged at
once afterwards, each machine that was on its way would be given up and bought again.
Source: issue 16, B4: an outage of 60 s with time-outs of 40 s bought 24 machines instead of 9.
"""

from datetime import datetime, timedelta
from typing import Final

from api.v1alpha1.node_request import NodeRequestStatus
from planner.lifecycle.arrival.reservation import RELEASE_AFTER_READY
from planner.lifecycle.seen import RequestTimings

SEEN_FOR: Final = timedelta(minutes=2)
"""Nodes that could not join meanwhile have done so by then; a wait that is shorter has all of its time again."""


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
