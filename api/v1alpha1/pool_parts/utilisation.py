"""When machines go because too little of them is used: judged for the pool as a whole, and for each machine."""

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field, model_validator

from api.duration import PositiveDuration
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


class NodeUtilisation(Model):
    """A machine goes once its pods have requested little of its cpu and of its memory for some time."""

    cpu_percent: Share = 50
    """It is used little while the share of its cpu that pods request is below this, in percent."""
    memory_percent: Share = 50
    """It is used little while the share of its memory that pods request is below this, too, in percent."""
    window: PositiveDuration = timedelta(minutes=10)
    """How long it must have been so without a break."""
