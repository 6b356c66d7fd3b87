"""How many Nodes each pool has, and had a while ago."""

from collections import deque
from collections.abc import Callable

from activities.ports.cluster import NODES
from api.keys import LABEL_POOL
from simulator.apiserver.cluster import MemoryCluster
from simulator.campaign.judging.recorder import labels_of


class PoolSizes:
    """Counts the Nodes of pools.

    Args:
        cluster: the API server.
        seconds: the true time.
    """

    def __init__(self, cluster: MemoryCluster, seconds: Callable[[], float]) -> None:
        self._cluster = cluster
        self._seconds = seconds
        self._known: dict[str, deque[tuple[float, int]]] = {}
        """By pool, how many it had from when on."""

    def note(self) -> None:
        """Count once more: a Node has changed."""
        sizes: dict[str, int] = dict.fromkeys(self._known, 0)
        for node in self._cluster.peek(NODES):
            pool = labels_of(node).get(LABEL_POOL, "")
            sizes[pool] = sizes.get(pool, 0) + 1
        for pool, size in sizes.items():
            known = self._known.setdefault(pool, deque(maxlen=200))
            if not known or known[-1][1] != size:
                known.append((self._seconds(), size))

    def most(self, pool: str, window_seconds: float) -> int:
        """Return the most Nodes that the pool has had within the last `window_seconds`."""
        known, since = self._known.get(pool, deque()), self._seconds() - window_seconds
        recent = (size for i, (_, size) in enumerate(known) if i + 1 == len(known) or known[i + 1][0] >= since)
        return max(recent, default=0)
