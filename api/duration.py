"""Durations as Kubernetes users write them: "90s", "10m", "1h30m". A bare number is refused.

Source: Kubernetes API conventions (metav1.Duration); Go `time.ParseDuration`.
"""

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

PATTERN: Final = r"^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$"
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_MICROSECONDS: Final = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_LONGEST: Final = timedelta(days=3650)
"""Ten years: beyond it a typing error is likelier than a wish, and timers would overflow."""


def parse_duration(text: object) -> timedelta:
    """Return the duration that `text` names.

    Raises:
        ValueError: no unit, an unknown unit, negative, or more than ten years.
    """
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str) or not re.match(PATTERN, text):
        msg = f'{text!r} is not a duration: write a number with a unit, such as "30s", "10m" or "1h30m"'
        raise ValueError(msg)
    total = sum(round(float(number) * _MICROSECONDS[unit]) for number, unit in _PART.findall(text))
    duration = timedelta(microseconds=total) if total < _LONGEST // timedelta(microseconds=1) else _LONGEST
    if duration >= _LONGEST:
        msg = f"{text!r} is too long: at most ten years"
        raise ValueError(msg)
    return duration


def format_duration(duration: timedelta) -> str:
    """Return the shortest text that `parse_duration` reads back to the same duration."""
    rest = duration // timedelta(milliseconds=1)
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, rest = divmod(rest, size)
        if count:
            text += f"{count}{unit}"
    return text or "0s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": PATTERN}),
]
