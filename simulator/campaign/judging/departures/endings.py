"""That whatever a round has begun to move ends: in time before its pods leave, and in time while they do."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from activities.ports.cluster import Object
from api.duration import parse_duration
from simulator.campaign.judging.departures.facts import PoolSpecs
from simulator.campaign.judging.recorder import Witness, phase_of

_SLACK_SECONDS: Final = 90.0
"""Until a worker that is alive has looked again, and what it wrote has taken effect."""
_TIMEOUT: Final = timedelta(minutes=15)
"""Of a drain where the pool says nothing."""
_AWAITS_TURN: Final = "AwaitsTurn"
Workers = frozenset[object]


class Endings:
    """Watches removals that policies have begun.

    Args:
        witness: what happened.
        specs: of pools.
        workers: who is alive, and since when they reach the API server.
    """

    def __init__(self, witness: Witness, specs: PoolSpecs, *, workers: Callable[[], Workers]) -> None:
        self._witness = witness
        self._specs = specs
        self._workers = workers
        self._since: dict[tuple[str, str, bool], tuple[float, Workers]] = {}
        """Since when a removal is in a phase and in its turn, and who was alive then, by uid, phase and turn."""

    def late(self, removals: list[Object]) -> Iterator[str]:
        """Yield what takes longer than its pool says, of removals that policies have begun."""
        now, workers = self._witness.seconds(), self._workers()
        known: dict[tuple[str, str, bool], tuple[float, Workers]] = {}
        for removal in removals:
            name, pool, phase = removal["metadata"]["name"], removal["spec"]["pool"], phase_of(removal)
            is_waiting = removal.get("status", {}).get("reason") == _AWAITS_TURN
            key = removal["metadata"]["uid"], phase, is_waiting
            since, before = self._since.get(key, (now, workers))
            known[key] = (since, before) if before == workers else (now, workers)
            limits = [_limit(spec, phase) for spec in self._specs.recent(pool)]
            if not limits or is_waiting or not workers or phase not in ("Pending", "Draining"):
                continue
            if now - known[key][0] > max(limits).total_seconds() + _SLACK_SECONDS:
                yield f"removal {name} has been {phase} for {now - known[key][0]:.0f} s"
                known[key] = now, workers
        self._since = known


def _limit(spec: Object, phase: str) -> timedelta:
    """Return how long a removal may be in this phase."""
    up, down = spec["scaleUp"], spec["scaleDown"]
    if phase == "Pending":
        return parse_duration(up["provisioningTimeout"]) + parse_duration(up["joinTimeout"])
    forced = parse_duration(down.get("terminationGracePeriod", "0s"))
    return forced + (parse_duration(down["drainTimeout"]) if "drainTimeout" in down else _TIMEOUT)
