"""How many machines a pool keeps, and how many it may have."""

from pydantic import model_validator

from api.model import Model
from api.rules import rules
from api.v1alpha1.pool_server_type import MIN_ABOVE_MAX, Count, Most


class PoolLimits(Model):
    """Bounds over all server types of the pool."""

    model_config = rules(MIN_ABOVE_MAX)

    min: Count = 0
    """Machines that are kept even without load, whatever their type."""
    max: Most | None = None
    """Most machines at any time, over all types. Without it, every server type needs a max of its own."""

    @model_validator(mode="after")
    def _bounds(self) -> "PoolLimits":
        if self.max is not None and self.min > self.max:
            msg = f"min {self.min} is above max {self.max}"
            raise ValueError(msg)
        return self
