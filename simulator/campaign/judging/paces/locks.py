"""Until when pools with a lock neither buy nor begin a removal, and when their status says that it has opened.

The lock is closed from a purchase on: `min` in any case, then until all that was asked for is Ready, and `max` at most.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from activities.ports.cluster import NODE_POOLS, Object, Resource
from api.duration import parse_duration
from simulator.apiserver.history import Change
from simulator.campaign.judging.paces.begun import Begun
from simulator.campaign.judging.recorder import Witness, phase_of

CLOCKS_DIFFER: Final = 2.0
"""Times in objects are whole seconds, and clocks of workers are up to a second apart."""
COMING: Final = ("Pending", "Provisioning")
_LATE_SECONDS: Final = 90.0
"""In which a worker that is alive all the time has opened a lock whose max is over."""


class Locks:
    """The locks of all pools.

    Args:
        witness: what happened; it must be told of the write after these rules.
        bought: the purchases of rounds.
        workers: those that are alive; an overdue lock is judged while they are the same.
        now: the true time.
    """

    def __init__(
        self,
        witness: Witness,
        bought: Begun,
        *,
        workers: Callable[[], frozenset[object]],
        now: Callable[[], datetime],
    ) -> None:
        self._witness = witness
        self._bought = bought
        self._workers = workers
        self._now = now
        self._pools: dict[str, Object] = {}
        self._overdue: dict[str, tuple[float, frozenset[object], str]] = {}

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource != NODE_POOLS:
            return
        name = change.now["metadata"]["name"]
        if change.kind == "DELETED":
            self._pools.pop(name, None)
        else:
            self._pools[name] = change.now

    def closed(self, pool: str, specs: Sequence[Object], *, known_for: float) -> str:
        """Return why the lock of the pool is closed, whatever of these specs a round has read; empty if it may be open.

        Args:
            pool: its name.
            specs: those that it had lately.
            known_for: how many seconds ago a purchase must have been made to be known.
        """
        locks = [spec["scaleUp"].get("lock") for spec in specs]
        if not locks or not all(locks):
            return ""
        now = self._witness.seconds()
        last = next((batch for batch in self._bought.before(pool, now) if now - batch.at > known_for), None)
        if last is None:
            return ""
        earliest = last.at + min(parse_duration(lock["min"]).total_seconds() for lock in locks)
        latest = last.at + min(parse_duration(lock["max"]).total_seconds() for lock in locks)
        if now < min(earliest, latest) - CLOCKS_DIFFER:
            return f"its lock is closed until {earliest:.0f} s at least, by the purchase at {last.at:.0f} s"
        if now < latest - CLOCKS_DIFFER and (coming := self._coming(last.names)):
            return f"its lock is closed by the purchase at {last.at:.0f} s: {coming[0]} is not Ready"
        return ""

    def late(self) -> list[str]:
        """Return what is wrong with locks that have not opened, each once."""
        wrong: list[str] = []
        now, workers = self._witness.seconds(), self._workers()
        for name, pool in self._pools.items():
            status, lock = pool.get("status", {}).get("lock") or {}, pool["spec"]["scaleUp"].get("lock")
            closed_at = status.get("closedAt")
            if lock is None or closed_at is None or status.get("openedAt") or not workers:
                self._overdue.pop(name, None)
                continue
            is_over = self._now() >= datetime.fromisoformat(closed_at) + parse_duration(lock["max"])
            known = self._overdue.get(name)
            if not is_over or known is None or known[1:] != (workers, closed_at):
                self._overdue[name] = now, workers, closed_at
            elif now - known[0] > _LATE_SECONDS:
                self._overdue[name] = float("inf"), workers, closed_at
                wrong.append(f"the lock of pool {name} is closed since {closed_at}, longer than its max")
        return wrong

    def _coming(self, names: Sequence[str]) -> list[str]:
        """Return which of these machines are not Ready, and never were."""
        requests = ((name, self._witness.requests.get(name)) for name in names)
        return [
            name
            for name, request in requests
            if request is not None
            and phase_of(request) in COMING
            and "deletionTimestamp" not in request["metadata"]
            and name not in self._witness.taken_back
        ]
