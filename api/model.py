"""The base of every kind, and objects read from JSON: camelCase on the wire, unknown fields refused, values frozen.

Files and API servers hold what people wrote. Pydantic's account of an error is a list for programmers, so an object
that cannot be read is answered with one sentence for people.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

_TIME: Final = 'must be a time such as "2026-01-01T12:00:00Z", not {input}'
_SENTENCES: Final = {
    "missing": "is missing",
    "string_type": "must be text, not {input}",
    "int_type": "must be a whole number, not {input}",
    "int_from_float": "must be a whole number, not {input}",
    "bool_type": "must be true or false, not {input}",
    "dict_type": "must be a mapping, not {input}",
    "model_type": "must be a mapping, not {input}",
    "model_attributes_type": "must be a mapping, not {input}",
    "tuple_type": "must be a list, not {input}",
    "literal_error": "must be {expected}, not {input}",
    "enum": "must be {expected}, not {input}",
    "greater_than_equal": "must be at least {ge}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "too_long": "must have at most {max_length} entries, not {actual_length}",
    "too_short": "must have at least {min_length} entry",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "value_error": "{error}",
}
"""By pydantic's type of error; another type speaks with pydantic's own words."""
_SCALARS: Final = frozenset({str, int, float, bool})
_LONGEST_INPUT: Final = 60
"""A quoted input is cut here, so that the line stays one line."""


@dataclass(frozen=True, slots=True)
class Private:
    """Annotation of a field in which a secret may stand, meant or by mistake: no message quotes it."""


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
    """A message between programs, in workflows and in a status: a field that a newer version adds is passed over.

    During a roll-out a worker reads what another version wrote; refusing it would stop a lifecycle.
    """

    model_config = ConfigDict(extra="ignore")


ModelT = TypeVar("ModelT", bound=Model)


class UnreadableError(ValueError):
    """An object is not what its kind asks for; the message is one line naming object and field.

    Attributes:
        subject: kind and name of the object.
        fault: the field with its error, without the subject.
    """

    def __init__(self, subject: str, fault: str) -> None:
        super().__init__(f"{subject}: {fault}")
        self.subject = subject
        self.fault = fault


def read(model: type[ModelT], given: object) -> ModelT:
    """Return `given`, an object as parsed from JSON or YAML, as its kind.

    Metadata that Growth does not know is passed over; unknown fields anywhere else are refused.
    A field that is null counts as absent, as at the API server.

    Raises:
        UnreadableError: `given` is wrong; tells the first fault, and how many more there are.
    """
    try:
        return model.model_validate(_without_nulls(given))
    except ValidationError as error:
        faults = [fault for fault in error.errors(include_url=False) if not _is_echo(fault)]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UnreadableError(_name(model, given), f"{_sentence(model, faults[0])}{more}") from None


def _without_nulls(value: object) -> object:
    # Most values are scalars, and the test for any mapping is slow.
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {
            key: part if type(part) in _SCALARS else _without_nulls(part)
            for key, part in value.items()
            if part is not None
        }
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _is_echo(fault: ErrorDetails) -> bool:
    """Whether pydantic calls a list too short only because an item of it is wrong."""
    return fault["type"] == "too_short" and len(fault["input"]) >= fault.get("ctx", {})["min_length"]


def _name(model: type[Model], given: object) -> str:
    metadata = given.get("metadata") if isinstance(given, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{model.__name__} {name}" if isinstance(name, str) and name else f"{model.__name__} without a name"


def _sentence(model: type[Model], fault: ErrorDetails) -> str:
    where = _path(fault["loc"])
    if fault["type"] == "extra_forbidden":
        sentence = _unknown(model, fault["loc"])
    else:
        known = _SENTENCES.get(fault["type"], fault["msg"][:1].lower() + fault["msg"][1:])
        is_private = _is_private(model, fault["loc"])
        values = {"input": (_kind if is_private else _quoted)(fault["input"]), **fault.get("ctx", {})}
        sentence = known.format_map(values)
        if is_private:
            # Our own validators begin with the value.
            sentence = sentence.removeprefix(f"{fault['input']!r} ")
    return f"{where}: {sentence}" if where else sentence


def _path(location: tuple[int | str, ...]) -> str:
    """Return a place as people write it: spec.serverTypes[0].max."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".")


def _is_private(model: type[Model], location: tuple[int | str, ...]) -> bool:
    """Return whether a place is in a field of which nothing may be quoted."""
    around = {model}
    for step in location:
        fields = [field for each in around for name, field in each.model_fields.items() if step in {name, field.alias}]
        if any(isinstance(mark, Private) for field in fields for mark in field.metadata):
            return True
        # An index or a key of a mapping is no field and leaves the models as they are; a key that is named like
        # a field is taken for it, and then too little is quoted, not too much.
        around = {each for field in fields for each in _models_in(field.annotation)} or around
    return False


def _models_in(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _quoted(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return repr(value if len(value) <= _LONGEST_INPUT else f"{value[:_LONGEST_INPUT]}...")
        case _:
            return _kind(value)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "a mapping"
        case _:
            return type(value).__name__


def _unknown(model: type[Model], location: tuple[int | str, ...]) -> str:
    """Return the fault of the field at `location`, which its model does not have."""
    schema = model.model_json_schema()
    parts = schema.get("$defs", {})
    for step in location[:-1]:
        below = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        schema = parts.get((below or {}).get("$ref", "").removeprefix("#/$defs/"), below or {})
    close = difflib.get_close_matches(str(location[-1]), schema.get("properties", {}), n=1)
    return "no such field" + (f"; did you mean {close[0]}?" if close else "")
