"""Conditions as the Kubernetes API conventions want them: one per type, with time of change.

Source: Kubernetes API conventions, "Typical status properties".
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from api.model import Model
from api.timestamp import Timestamp


class Condition(Model):
    """One thing that was seen of the object."""

    type: str = Field(max_length=64)
    """What it is about, one CamelCase word such as Ready."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds: True, False or Unknown."""
    reason: str = Field(max_length=64)
    """Why, one CamelCase word for programs."""
    message: str = Field(default="", max_length=1024)
    """Why, a sentence for people."""
    last_transition_time: Timestamp
    """When the status last changed."""
    observed_generation: int | None = None
    """Generation of the spec that was looked at: one below metadata.generation is out of date."""


Conditions = Annotated[
    tuple[Condition, ...],
    Field(
        json_schema_extra={
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        }
    ),
]
"""One of each type: a list-map, so that two writers can each own theirs."""


def set_condition(
    conditions: Sequence[Condition],
    type: str,  # noqa: A002 - the field's name in Kubernetes
    *,
    status: bool | None,
    reason: str,
    message: str = "",
    now: datetime,
    generation: int | None = None,
) -> tuple[Condition, ...]:
    """Return `conditions` with this one set; its transition time moves only when the status changes.

    A status of None is written as Unknown.
    """
    word: Literal["True", "False", "Unknown"] = "Unknown" if status is None else "True" if status else "False"
    before = next((c for c in conditions if c.type == type), None)
    changed = before is None or before.status != word
    condition = Condition(
        type=type,
        status=word,
        reason=reason,
        message=message[:1024],
        last_transition_time=now if changed or before is None else before.last_transition_time,
        observed_generation=generation,
    )
    if before is None:
        return (*conditions, condition)
    return tuple(condition if c.type == type else c for c in conditions)
