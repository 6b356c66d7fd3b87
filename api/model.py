"""The base of every kind: camelCase on the wire, unknown fields refused, values frozen."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


@dataclass(frozen=True, slots=True)
class Private:
    """Annotation of a field in which a secret may stand, meant or by mistake: what is told never quotes it."""


class Model(BaseModel):
    """A part of an API object.

    Docstrings under fields become the text of `kubectl explain`.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    def to_json(self) -> dict[str, object]:
        """Return the object as the API server stores it: aliases, no nulls, JSON types."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Payload(Model):
    """What programs tell each other, in workflows and in a status: a part that a newer version adds is passed over.

    During a roll-out a worker reads what another version wrote; refusing it would stop a lifecycle.
    """

    model_config = ConfigDict(extra="ignore")
