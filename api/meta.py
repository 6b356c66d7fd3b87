"""What Kubernetes has in its package meta/v1 and Growth reads and writes: metadata, conditions, times.

Times are RFC 3339 text in UTC with microseconds, so that an order survives a restart. There is one condition per type,
with its time of change.
Source: Kubernetes API conventions, "Typical status properties".
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from api.model import Model
from api.rules import Text

READY: Final = "Ready"
"""Type of the condition that says whether an object is there, or is used."""


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        msg = f"{moment.isoformat()} has no time zone: end it with Z"
        raise ValueError(msg)
    return moment.astimezone(UTC)


def read_moment(text: str) -> datetime | None:
    """Return the time that a text tells in RFC 3339 with its time zone, None if it tells none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def format_timestamp(moment: datetime) -> str:
    """Return `moment` as RFC 3339 text in UTC, without a fraction when it is whole."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def shown_time(moment: datetime) -> str:
    """Return `moment`, which is in UTC, as sentences for people have it."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


Timestamp = Annotated[
    datetime,
    AfterValidator(_utc),
    PlainSerializer(format_timestamp, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class OwnerReference(Model):
    """A reference to the object whose deletion takes this one along."""

    model_config = ConfigDict(extra="ignore")

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """Metadata of an object; parts that Growth has no use for are passed over."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    def check_name(self, form: Text) -> None:
        """Refuse a name of another form.

        Raises:
            ValueError: the object has no name, or one that the API server would refuse.
        """
        if not self.name:
            raise ValueError("metadata.name is missing")
        try:
            form.check(self.name)
        except ValueError as error:
            msg = f"metadata.name: {error}"
            raise ValueError(msg) from None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        # An empty uid or label map in a create call reads as a wish; the API server expects absence.
        return {key: value for key, value in serialize(self).items() if value not in ("", None, {}, [], ())}


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
