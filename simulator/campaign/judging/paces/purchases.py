"""How fast pools buy: `scaleUp.batchMax`, `maxInFlight` and `cooldown` hold when a machine is asked for."""

from collections.abc import Iterator, Sequence
from typing import Any

from activities.ports.cluster import Object
from api.duration import parse_duration
from simulator.campaign.judging.paces.begun import Begun
from simulator.campaign.judging.paces.locks import CLOCKS_DIFFER, COMING
from simulator.campaign.judging.recorder import Witness, phase_of


def excess(request: Object, specs: Sequence[Object], witness: Witness, bought: Begun) -> Iterator[str]:
    """Yield what the request is too much for, whatever of these specs of its pool the round has read.

    Args:
        request: as it is made.
        specs: those that its pool had lately.
        witness: has not yet taken the write.
        bought: the purchases of rounds, without this one.
    """
    pool, now = request["spec"]["pool"], witness.seconds()
    wishes = [spec["scaleUp"] for spec in specs]
    batch = bought.batch(pool, now)
    if (most := _most(wishes, "batchMax")) and len(batch) >= most:
        yield f"it is number {len(batch) + 1} of its round, of at most {most}: batchMax"
    coming = [name for name, other in witness.requests.items() if other["spec"]["pool"] == pool and _is_coming(other)]
    if (most := _most(wishes, "maxInFlight")) and len(set(coming) - witness.taken_back) >= most:
        yield f"{len(coming)} machines are coming, of at most {most}: maxInFlight"
    pauses = [parse_duration(wish["cooldown"]).total_seconds() if "cooldown" in wish else 0.0 for wish in wishes]
    last = next(bought.before(pool, now), None)
    if last is not None and now < last.at + min(pauses, default=0.0) - CLOCKS_DIFFER:
        yield f"its pool bought at {last.at:.0f} s: cooldown"


def _most(wishes: Sequence[dict[str, Any]], field: str) -> int:
    """Return the largest value of a bound, 0 where any wish has none."""
    values = [wish.get(field, 0) for wish in wishes]
    return max(values, default=0) if all(values) else 0


def _is_coming(request: Object) -> bool:
    return phase_of(request) in COMING and "deletionTimestamp" not in request["metadata"]
