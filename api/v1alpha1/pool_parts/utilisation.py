"""When machines go because too little of them is used: judged for the pool as a whole, and for each machine."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from api.duration import PositiveDuration, format_duration
from api.model import Model
from api.rules import rule, rules

Percent = Annotated[int, Field(strict=True, ge=0, le=1000)]
Share = Annotated[int, Field(strict=True, ge=0, le=100)]
Rate = Annotated[int, Field(strict=True, ge=0, le=1000)]

_LOWER_ABOVE_UPPER: Final = rule(
    "!has(self.lowerPercent) || self.lowerPercent < self.upperPercent", "lowerPercent must be below upperPercent"
)
_SLOW_ABOVE_FAST: Final = rule("self.slow <= self.fast", "slow is above fast")


class GroupUtilisation(Model):
    """Machines go at one of two rates while the requests of all pods are a small share of what the pool has."""

    model_config = rules(_LOWER_ABOVE_UPPER, _SLOW_ABOVE_FAST)

    lower_percent: Percent
    """Below it, machines go at the fast rate: the larger share of cpu and memory counts."""
    upper_percent: Percent
    """Below it, machines go at the slow rate; at it and above, none do."""
    slow: Rate
    """Most machines that begin to go at once at the slow rate."""
    fast: Rate
    """Most machines that begin to go at once at the fast rate."""
    every: PositiveDuration = timedelta(minutes=1)
    """How long after machines have begun to go others may."""

    @model_validator(mode="after")
    def _ordered(self) -> "GroupUtilisation":
        if self.lower_percent >= self.upper_percent:
            raise ValueError(_LOWER_ABOVE_UPPER["message"])
        if self.slow > self.fast:
            raise ValueError(_SLOW_ABOVE_FAST["message"])
        return self


_FRACTION_OF_REQUESTS: Final = rule(
    "!has(self.fraction) || (has(self.basis) && self.basis == 'usage')",
    "fraction is of samples of usage: set basis: usage, or leave it out",
)
_MOST_WINDOW: Final = timedelta(minutes=45)
"""Of usage: each worker keeps 50 samples of a Node, one a minute."""
_SHOWN_MOST: Final = format_duration(_MOST_WINDOW)
_WINDOW_OF_USAGE: Final = rule(
    f"!has(self.basis) || self.basis != 'usage' || duration(self.window) <= duration('{_SHOWN_MOST}')",
    f"usage is known for the last {_SHOWN_MOST} at most: make the window no longer",
)


class NodeUtilisation(Model):
    """A machine goes once little of its cpu and of its memory has been requested, or used, for some time."""

    model_config = rules(_FRACTION_OF_REQUESTS, _WINDOW_OF_USAGE)

    cpu_percent: Share = 50
    """It is used little while the share of its cpu that counts by basis is below this, in percent."""
    memory_percent: Share = 50
    """It is used little while the share of its memory that counts by basis is below this, too, in percent."""
    window: PositiveDuration = timedelta(minutes=10)
    """How long it must have been so without a break."""
    basis: Literal["requests", "usage"] | None = None
    """What counts: requests of its pods, or usage as metrics.k8s.io tells it. Without it, requests."""
    fraction: Annotated[int | None, Field(strict=True, ge=1, le=100)] = None
    """How many of the samples of usage in the window must be below, in percent. Without it, all of them."""

    @model_validator(mode="after")
    def _is_known_of_usage(self) -> "NodeUtilisation":
        if self.fraction is not None and not self.is_by_usage:
            raise ValueError(_FRACTION_OF_REQUESTS["message"])
        if self.is_by_usage and self.window > _MOST_WINDOW:
            raise ValueError(_WINDOW_OF_USAGE["message"])
        return self

    @property
    def is_by_usage(self) -> bool:
        """Whether samples of usage count, and not requests."""
        return self.basis == "usage"

    @property
    def fraction_of_samples(self) -> int:
        """How many of the samples must be below, in percent."""
        return 100 if self.fraction is None else self.fraction
