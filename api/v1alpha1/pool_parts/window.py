"""Window: hours of days of the week, told by a clock on the wall of a time zone."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from api.model import Model
from api.rules import Text, rule

Weekday = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
WEEKDAYS: Final[tuple[Weekday, ...]] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""In the order of `datetime.weekday`."""

_TIME: Final = Text(
    pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", longest=5, form='a time of day in quotes, from "00:00" to "23:59"'
)
_ZONE: Final = Text(
    pattern="^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
    longest=64,
    form="a time zone of the IANA database, such as Europe/Berlin or UTC",
)
BOTH_TIMES: Final = rule("has(self.start) == has(self.end)", "start and end are given together, or neither")
NEVER_OPEN: Final = rule(
    "!has(self.start) || !has(self.end) || self.start != self.end",
    "start and end are the same, so the window never opens: leave both out for whole days",
)


class Window(Model):
    """Hours of days of the week."""

    days: Annotated[tuple[Weekday, ...] | None, Field(min_length=1, max_length=7)] = None
    """Days on which it is open, Mon to Sun; one past midnight is of the day it starts on. Without it, every day."""
    start: Annotated[str, _TIME] | None = None
    """Local time from when on it is open, such as "09:00". Without it, the whole day."""
    end: Annotated[str, _TIME] | None = None
    """Local time at which it closes; before start, it is of the next day. Without it, the whole day."""
    timezone: Annotated[str, _ZONE] | None = None
    """Time zone of days and times by its IANA name, such as Europe/Berlin. Without it, UTC."""

    @model_validator(mode="after")
    def _opens(self) -> "Window":
        if (self.start is None) != (self.end is None):
            raise ValueError(BOTH_TIMES["message"])
        if self.start is not None and self.start == self.end:
            raise ValueError(NEVER_OPEN["message"])
        return self
