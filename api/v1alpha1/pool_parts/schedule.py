"""Schedule of a pool: other bounds in certain hours."""

from typing import Final

from pydantic import model_validator

from api.rules import rule, rules
from api.v1alpha1.pool_parts.window import BOTH_TIMES, NEVER_OPEN, Window
from api.v1alpha1.pool_server_type import MIN_ABOVE_MAX, Count, Most

MOST_WINDOWS: Final = 50
_NO_BOUND: Final = rule("has(self.min) || has(self.max)", "the window changes nothing: set min, max or both")


class ScheduledLimits(Window):
    """Bounds that hold in a window in place of the pool's own. Of several that are open, the strictest holds."""

    model_config = rules(BOTH_TIMES, NEVER_OPEN, MIN_ABOVE_MAX, _NO_BOUND)

    min: Count | None = None
    """Machines that are kept in the window, whatever their type. Without it, limits.min."""
    max: Most | None = None
    """Most machines in the window; those beyond go as those above limits.max do. Without it, limits.max."""

    @model_validator(mode="after")
    def _bounds(self) -> "ScheduledLimits":
        if self.min is None and self.max is None:
            raise ValueError(_NO_BOUND["message"])
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(MIN_ABOVE_MAX["message"])
        return self
