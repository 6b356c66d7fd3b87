"""When purchases and removals of each pool began by rounds, in batches: what one round writes is one batch."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from activities.ports.cluster import Object
from api.keys import LABEL_REQUEST
from simulator.campaign.judging.recorder import labels_of

ROUND_SECONDS: Final = 1.0
"""What is written within this time of the first write counts as one round: what is written later is of another."""
_AT_ONCE_SECONDS: Final = 0.05
"""What is written within this time of the first write is of one round, where each call has its answer."""
_REASONS: Final = ("Empty", "Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused", "Dead")
REPAIRS: Final = ("Repair", "Dead")


@dataclass(slots=True)
class Batch:
    """What one round began in a pool."""

    at: float
    names: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


class Begun:
    """The batches of each pool, the last ones first."""

    def __init__(self) -> None:
        self._batches: dict[str, list[Batch]] = {}

    def add(self, pool: str, name: str, now: float) -> None:
        """Count one more that begins now, by its name or reason."""
        batches = self._batches.setdefault(pool, [])
        if not batches or now - batches[-1].at > ROUND_SECONDS:
            batches.append(Batch(now))
        batches[-1].names.append(name)
        batches[-1].times.append(now)

    def batch(self, pool: str, now: float) -> list[str]:
        """Return the names of what the round that writes now has begun before, of what is certainly of that round."""
        batches = self._batches.get(pool) or ()
        known = zip(batches[-1].names, batches[-1].times, strict=True) if batches else ()
        return [name for name, at in known if now - at <= _AT_ONCE_SECONDS]

    def before(self, pool: str, now: float) -> Iterator[Batch]:
        """Yield the batches of earlier rounds, the latest first."""
        for batch in reversed(self._batches.get(pool) or ()):
            if now - batch.at > ROUND_SECONDS:
                yield batch


def is_of_round(removal: Object) -> bool:
    """Return whether a round has begun the removal for a reason of its own."""
    spec = removal["spec"]
    is_named = labels_of(removal).get(LABEL_REQUEST) == spec["serverName"] and bool(spec.get("nodeName"))
    return is_named and not spec.get("immediate") and spec["reason"] in _REASONS


def is_bought_by_round(request: Object) -> bool:
    """Return whether a round has asked for the machine."""
    return any(owner["kind"] == "NodePool" for owner in request["metadata"].get("ownerReferences") or ())
