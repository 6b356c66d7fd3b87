"""That an offering without capacity is left out twice as long after each further miss, whoever asks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from activities.ports.cluster import NODE_REQUESTS, Object, Resource
from simulator.apiserver.history import Change
from simulator.campaign.judging.recorder import Witness, phase_of

_SHORTAGE: Final = "InsufficientCapacity"
_FIRST_SECONDS: Final = 5.0
"""unavailableTTL of all pools."""
_TOLERATED: Final = 3
"""Misses that come too early: a note that is lost, or two workers whose clocks differ, lets one through."""
_SLACK_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Missed:
    """What is known of an offering that was without capacity."""

    at: float
    number: int


class Misses:
    """Judges the misses of each offering.

    Args:
        witness: what happened.
        may_leap: whether a worker's clock is wrong.
    """

    def __init__(self, witness: Witness, *, may_leap: Callable[[], bool]) -> None:
        self._witness = witness
        self._may_leap = may_leap
        self._asked: dict[str, float] = {}
        self._missed: dict[tuple[str, str, str], _Missed] = {}
        self._early = 0
        self._has_leapt = False

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource != NODE_REQUESTS or change.kind == "DELETED":
            return
        self._has_leapt = self._has_leapt or self._may_leap()
        uid, now = change.now["metadata"]["uid"], self._witness.seconds()
        asked = self._asked.setdefault(uid, now)
        before, phase = phase_of(change.before or change.now), phase_of(change.now)
        if phase == "Provisioning" != before:
            self._missed.pop(_offering(change.now), None)
        elif phase == "Unmet" != before and change.now["status"].get("reason") == _SHORTAGE:
            self._miss(_offering(change.now), asked, now)

    def wrong(self) -> list[str]:
        """Return the violation, if there are too many misses that come too early."""
        return [f"{self._early} times an offering without capacity was asked for too soon"] * (
            self._early > _TOLERATED and not self._has_leapt
        )

    def _miss(self, offering: tuple[str, str, str], asked: float, now: float) -> None:
        known = self._missed.get(offering)
        if known is None:
            self._missed[offering] = _Missed(now, 1)
        elif asked > known.at + _SLACK_SECONDS:
            # One that was under way together with the last found the same shortage.
            self._early += asked < known.at + _FIRST_SECONDS * 2 ** (known.number - 1) - _SLACK_SECONDS
            self._missed[offering] = _Missed(now, known.number + 1)


def _offering(request: Object) -> tuple[str, str, str]:
    spec = request["spec"]
    return str(spec["classRef"]), spec["serverType"].lower(), spec["location"]
