"""What requests and removals have in common: their event list."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import Field

from api.meta import Timestamp
from api.model import Model

EVENTS_KEPT: Final = 20
"""Older ones fall out, so that a long lifecycle does not grow its object without end."""


class LifecycleEvent(Model):
    """One thing that happened."""

    at: Timestamp
    """When it happened."""
    name: str = Field(max_length=64)
    """What happened, one CamelCase word."""
    reason: str = Field(default="", max_length=512)
    """Why it happened, a sentence."""


def add_event(events: Sequence[LifecycleEvent], name: str, reason: str, at: datetime) -> tuple[LifecycleEvent, ...]:
    """Return `events` with one more at the end, the oldest dropped beyond `EVENTS_KEPT`."""
    return (*events, LifecycleEvent(at=at, name=name, reason=reason[:512]))[-EVENTS_KEPT:]
