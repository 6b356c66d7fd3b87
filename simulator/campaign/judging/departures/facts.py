"""Since when something has been true without a break: rounds decide on what was true a while ago."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import NODE_POOLS, Object, Resource
from simulator.apiserver.history import Change
from simulator.campaign.setup import Setup
from simulator.simulation import Simulation

_PROMPT_SECONDS: Final = 6.0
"""A round writes within moments of its look where each call has its answer."""
_LOSSES_SECONDS: Final = 20.0
"""It may write for 10 s after it has taken the fence, and looks right after that; a write may wait for its answer."""
_STALLS_SECONDS: Final = 60.0
"""The same where watches stand still, or the API server does."""


def is_prompt(scenario: Setup) -> bool:
    """Return whether watches tell at once, and each call has its answer."""
    return not scenario.losses and not scenario.stalls and not scenario.has_slow_starts


def window_of(scenario: Setup) -> float:
    """Return how many seconds old what a round decides on may be when it writes."""
    if is_prompt(scenario):
        return _PROMPT_SECONDS
    return _STALLS_SECONDS if scenario.stalls or scenario.has_slow_starts else _LOSSES_SECONDS


class Clocks:
    """The true time, and what workers may take for it.

    Args:
        sim: the simulation.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._ahead = {timedelta(seconds=1)}
        """Also by those that are dead: a write of theirs may take effect late."""

    def now(self) -> datetime:
        """Return the true time."""
        return self._sim.now()

    def all_readings(self) -> set[datetime]:
        """Return what clocks may show now, each at its latest."""
        self._ahead |= {incarnation.ahead for incarnation in self._sim.alive}
        return {self._sim.now() + ahead for ahead in self._ahead}

    def latest(self) -> datetime:
        """Return the latest of what clocks may show now."""
        return max(self.all_readings())


class Facts:
    """Claims that come to be true and false.

    Args:
        seconds: the true time.
        window: how long one must have been true to be known to each round that writes now.
        written: the same of what a round or a lifecycle has written itself.
    """

    def __init__(self, seconds: Callable[[], float], window: float, *, written: float) -> None:
        self._seconds = seconds
        self._window = window
        self._written = written
        self._since: dict[Hashable, float] = {}

    def note(self, claim: Hashable, *, holds: bool) -> None:
        """Take whether a claim is true from now on."""
        if holds:
            self._since.setdefault(claim, self._seconds())
        else:
            self._since.pop(claim, None)

    def is_known(self, claim: Hashable) -> bool:
        """Return whether every round that writes now knows the claim to be true."""
        since = self._since.get(claim)
        return since is not None and self._seconds() - since > self._window

    def is_written(self, claim: Hashable) -> bool:
        """Return whether every round that writes now knows what Growth has written itself."""
        since = self._since.get(claim)
        return since is not None and self._seconds() - since >= self._written


class PoolSpecs:
    """What pools have said lately: a round may have read any of it.

    Args:
        seconds: the true time.
        window: how long ago a round may have read.
    """

    def __init__(self, seconds: Callable[[], float], window: float) -> None:
        self._seconds = seconds
        self._window = window
        self._known: dict[str, deque[tuple[float, Object | None]]] = {}

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        if resource != NODE_POOLS:
            return
        known = self._known.setdefault(change.now["metadata"]["name"], deque(maxlen=50))
        spec = None if change.kind == "DELETED" else change.now["spec"]
        if not known or known[-1][1] != spec:
            known.append((self._seconds(), spec))

    def recent(self, pool: str) -> list[Object]:
        """Return each spec that the pool has had within the window."""
        return [spec for spec in self._recent(pool) if spec is not None]

    def _recent(self, pool: str) -> Iterator[Object | None]:
        known, since = self._known.get(pool, deque()), self._seconds() - self._window
        return (spec for i, (_, spec) in enumerate(known) if i + 1 == len(known) or known[i + 1][0] >= since)
