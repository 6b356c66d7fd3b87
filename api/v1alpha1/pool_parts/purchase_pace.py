"""How fast a pool buys: its lock after a purchase, and its breaker after purchases that failed."""

from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field, model_validator

from api.duration import Duration, PositiveDuration
from api.meta import Timestamp
from api.model import Model, Payload
from api.rules import rule, rules

_MIN_ABOVE_MAX: Final = rule(
    "!has(self.min) || !has(self.max) || duration(self.min) <= duration(self.max)", "min is longer than max"
)


class PurchaseLock(Model):
    """A pause after each purchase, until what was bought is Ready."""

    model_config = rules(_MIN_ABOVE_MAX)

    min: Duration = timedelta(minutes=2)
    """How long it stays closed at least, from the last machine that was asked for."""
    max: PositiveDuration = timedelta(minutes=10)
    """When it opens although machines that were asked for are not Ready, from the last one that was asked for."""

    @model_validator(mode="after")
    def _bounds(self) -> "PurchaseLock":
        if self.min > self.max:
            raise ValueError(_MIN_ABOVE_MAX["message"])
        return self


class Breaker(Model):
    """A pause of all purchases after several that failed one after the other."""

    failures: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    """Failed purchases in a row after which nothing more is bought."""
    half_open_after: PositiveDuration = timedelta(minutes=10)
    """How long nothing is bought; then one machine is tried."""


class LockStatus(Payload):
    """The pool's lock, as the last round left it."""

    closed_at: Timestamp | None = None
    """When the last machine was asked for: min and max of the lock count from here."""
    requested: int = 0
    """How many machines were asked for since it closed."""
    opened_at: Timestamp | None = None
    """When it opened. Without it, it is closed."""
    opened_by: Annotated[str | None, Field(max_length=16)] = None
    """What opened it: Ready, as all that was asked for was; Ended, as nothing more came; or Timeout."""


class BreakerStatus(Payload):
    """The pool's breaker, as the last round left it."""

    failures: int = 0
    """Failed purchases since the last one that came to a Ready Node."""
    counted_until: Timestamp | None = None
    """When the last of these failed."""
    half_open_at: Timestamp | None = None
    """When one machine is tried again. Without it, the breaker is closed, and the pool buys."""
