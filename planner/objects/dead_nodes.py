"""Dead nodes: not Ready for long, with pods that cannot end, as no kubelet is there to end them.

Shared by rounds, which propose that such a machine goes, and by its removal, which looks again before it does.
Source: Kubernetes docs, "Nodes: Node status" and "Node Shutdowns: Non-graceful node shutdown handling".
"""

from datetime import datetime, timedelta
from typing import Final

SHORTEST_WATCH: Final = timedelta(minutes=2)
"""How long Nodes must have been seen without a break: after an outage of the API server, each needs time to report."""


def judged_at(
    unready_since: datetime,
    after: timedelta,
    *,
    watched_since: datetime | None = None,
    spared_at: datetime | None = None,
) -> datetime:
    """Return from when on a Node that stays as it is counts as dead.

    Args:
        unready_since: when it was last Ready, or its Ready condition last changed.
        after: the pool's `scaleDown.repair.after`.
        watched_since: since when Nodes are seen without a break; None does not tell.
        spared_at: when a person last cancelled its removal.
    """
    at = unready_since + after
    if watched_since is not None:
        at = max(at, watched_since + min(SHORTEST_WATCH, after))
    return at if spared_at is None else max(at, spared_at + after)


def are_most(unready: int, total: int) -> bool:
    """Return whether so many of all Nodes are not Ready that what they stand on fails, rather than each of them.

    One alone is never most. Source: Kubernetes docs, "Nodes: Rate limits on eviction"; Cluster API, MachineHealthCheck,
    `maxUnhealthy`.
    """
    return unready > 1 and 2 * unready > total
