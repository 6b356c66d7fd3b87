"""Points in time as RFC 3339 text in UTC with microseconds, so that an order survives a restart."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer, WithJsonSchema


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        msg = f"{moment.isoformat()} has no time zone: end it with Z"
        raise ValueError(msg)
    return moment.astimezone(UTC)


def format_timestamp(moment: datetime) -> str:
    """Return `moment` as RFC 3339 text in UTC, without a fraction when it is whole."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Timestamp = Annotated[
    datetime,
    AfterValidator(_utc),
    PlainSerializer(format_timestamp, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
