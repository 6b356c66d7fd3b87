"""The figures of a pool in a round: what is requested of what it has, its Nodes by state, its lock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final

_WHOLE: Final = 100


class NodeState(StrEnum):
    """Where a Node of a pool stands. Each is in one state, the first that holds, so that they add up."""

    CORDONED = "cordoned"
    FORCED = "forced"
    """Somebody wants it to go at once: the taint growth.dev/remove-now."""
    TAINTED = "tainted"
    """It goes: under removal, tainted to go, or being deleted."""
    STARTING = "starting"
    """It has joined and was not Ready yet."""
    UNHEALTHY = "unhealthy"
    """It is not Ready, and should be."""
    UNTAINTED = "untainted"


@dataclass(frozen=True, slots=True)
class Use:
    """What is requested of what there is, as a decision counts it: of cpu in thousandths of a core, of memory in bytes.

    Both name the same resources.
    """

    requests: Mapping[str, int]
    capacity: Mapping[str, int]

    @property
    def shares(self) -> dict[str, Fraction]:
        """The share by resource, 1 for all of it; without those of which there is nothing."""
        return {name: Fraction(asked, has) for name, asked in self.requests.items() if (has := self.capacity[name]) > 0}


@dataclass(frozen=True, slots=True)
class LockFigures:
    """The lock of a pool after the round."""

    is_closed: bool
    closed_at: datetime
    requested: int
    """Machines that were asked for since it closed."""
    earliest: datetime
    """Before that, it does not open."""
    latest: datetime
    """Then it opens in any case."""
    opened_at: datetime | None = None
    opened_by: str | None = None


@dataclass(frozen=True, slots=True)
class UseBounds:
    """The bounds on the use of a pool, in percent; None where it does not ask for them."""

    threshold: int | None = None
    """Above it, the pool grows."""
    lower: int | None = None
    """Below it, machines go at the fast rate."""
    upper: int | None = None
    """Below it, they go at the slow rate."""


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """What a round counted of a pool."""

    use: Use
    """By the machines that are there: what `scaleDown.group` goes by."""
    growth: Use | None = None
    """With machines that are coming: what `scaleUp.thresholdPercent` goes by, before anything is bought for it."""
    bounds: UseBounds = UseBounds()
    nodes: Mapping[NodeState, int] = field(default_factory=dict)
    """Nodes by state; all states are there."""
    largest_pending: Mapping[str, int] = field(default_factory=dict)
    """The largest request of a waiting pod that the pool is for, by resource."""
    largest_free: Mapping[str, int] = field(default_factory=dict)
    """The most that one Ready machine has left for pods, by resource."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The fewest (`min`) and the most (`max`) machines that are in force."""
    has_lock: bool = False

    @property
    def has_bounds(self) -> bool:
        """Whether the pool grows or shrinks by its use."""
        return self.bounds != UseBounds()


def shown(share: Fraction) -> str:
    """Return a share in percent, cut off after the second digit behind the point, such as `38` or `66.66`."""
    hundredths = share.numerator * _WHOLE * _WHOLE // share.denominator
    return f"{hundredths // _WHOLE}.{hundredths % _WHOLE:02}".rstrip("0").rstrip(".")
