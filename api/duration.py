"""Durations as Kubernetes users write them: "90s", "10m", "1h30m". A bare number is refused.

Source: Kubernetes API conventions (metav1.Duration); Go `time.ParseDuration`, of whose units
those below a millisecond are left out.
"""

import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

from api.rules import RULES, UNIT, Schema, rule

_FRACTION: Final = "([.][0-9]{1,3})?"
PATTERN: Final = (
    f"^(0|([0-9]{{1,5}}{_FRACTION}h|[0-9]{{1,7}}{_FRACTION}m|[0-9]{{1,9}}{_FRACTION}s|[0-9]{{1,12}}ms){{1,4}})$"
)
"""The digits are bounded so that CEL's `duration()`, which counts nanoseconds in 64 bits, cannot overflow."""
_PART: Final = re.compile("([0-9]+(?:[.][0-9]+)?)(ms|s|m|h)")
_MILLISECONDS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_LONGEST: Final = timedelta(hours=87_600)
"""Ten years: beyond it a typing error is likelier than a wish, and timers would overflow."""
_UNIT: Final = "A number with a unit: ms, s, m or h."
_FORM: Final = 'a number with a unit, such as "30s", "10m" or "1h30m"'


def parse_duration(text: object) -> timedelta:
    """Return the duration that `text` names.

    Raises:
        ValueError: no unit, an unknown unit, negative, or more than ten years.
    """
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str):
        raise _refusal(text)
    return _parsed(text)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> timedelta:
    """Return the duration; kept, as each look of a lifecycle reads the same dozen texts of its pool."""
    if not re.fullmatch(PATTERN, text):
        raise _refusal(text)
    # Fractions, as a float would turn 0.003h into less than it says.
    total = sum((Fraction(number) * _MILLISECONDS[unit] for number, unit in _PART.findall(text)), Fraction(0))
    duration = timedelta(milliseconds=int(total))
    if duration > _LONGEST:
        msg = f"{text!r} is too long: at most ten years (87600h)"
        raise ValueError(msg)
    return duration


def _refusal(text: object) -> ValueError:
    return ValueError(f"{text!r} must be {_FORM}")


def format_duration(duration: timedelta) -> str:
    """Return the shortest text that `parse_duration` reads back to the same whole milliseconds."""
    rest = duration // timedelta(milliseconds=1)
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            text += f"{count}{unit}"
    return text or "0s"


def _positive(duration: timedelta) -> timedelta:
    if duration <= timedelta():
        msg = "must be longer than zero"
        raise ValueError(msg)
    return duration


def _minute_at_least(duration: timedelta) -> timedelta:
    if duration < timedelta(minutes=1):
        msg = "must be at least one minute"
        raise ValueError(msg)
    return duration


def _schema(bounds: str, form: str) -> Schema:
    expression = f"self.matches('{PATTERN}') && duration(self) <= duration('87600h'){bounds}"
    return {"type": "string", "maxLength": 32, RULES: [rule(expression, f"must be {_FORM}, {form}")], UNIT: _UNIT}


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(_schema("", "at most ten years")),
]
"""A duration as text; zero is allowed."""

PositiveDuration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    AfterValidator(_positive),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(_schema(" && duration(self) > duration('0s')", "longer than zero, at most ten years")),
]
"""A duration above zero: with zero, what it paces would spin or end at once."""

DurationOfUse = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    AfterValidator(_minute_at_least),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(_schema(" && duration(self) >= duration('1m')", "at least one minute, at most ten years")),
]
"""A duration of a minute at least: in less than that no machine would have been of use."""
