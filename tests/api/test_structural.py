from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, create_model

from api.duration import Duration
from api.model import Model
from api.rules import RULES, rule, rules
from api.structural import UnknownSchemaError, structural_schema


def schema_of(annotation: Any, default: Any = ..., *, defaults: bool = True, description: str | None = "About it."):
    """Return the schema of a field `some_field` with this annotation."""
    field = Field(default, description=description)
    model = create_model("Thing", __base__=Model, __doc__="A thing.", some_field=(annotation, field))
    return structural_schema(model, defaults=defaults)["properties"]["someField"]


class Part(Model):
    """A part."""

    model_config = rules(rule("self.wide", "must be wide"))

    wide: bool = True
    """Whether it is wide."""
    note: str = ""
    """A note."""


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (str | None, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (Annotated[int, Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}),
        (
            Annotated[int, Field(gt=1, lt=5)],
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True},
        ),
        (Annotated[int, Field(ge=1)] | None, {"type": "integer", "minimum": 1}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (
            Annotated[tuple[str, ...], Field(min_length=1, max_length=3)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Annotated[str, Field(pattern="^a$", max_length=1)], {"type": "string", "pattern": "^a$", "maxLength": 1}),
    ],
)
def test_known_forms(annotation, schema):
    assert schema_of(annotation) == schema | {"description": "About it."}


def test_a_part_is_written_in_place_with_its_rules_before_those_of_the_field():
    own = Field(json_schema_extra={RULES: [rule("true", "second")]})
    schema = schema_of(Annotated[Part, own])
    assert schema == {
        "description": "About it.",
        "type": "object",
        "properties": {
            "wide": {"description": "Whether it is wide. Default: true.", "type": "boolean", "default": True},
            "note": {"description": "A note.", "type": "string", "default": ""},
        },
        RULES: [rule("self.wide", "must be wide"), rule("true", "second")],
    }


def test_a_part_keeps_its_own_description_inside_a_list():
    assert schema_of(tuple[Part, ...])["items"]["description"] == "A part."


@pytest.mark.parametrize(
    ("annotation", "default", "written", "text"),
    [
        (int, 3, 3, " Default: 3."),
        (bool, False, False, " Default: false."),
        (str, "a b", "a b", " Default: a b."),
        (Duration, timedelta(minutes=90), "1h30m", " A number with a unit: ms, s, m or h. Default: 1h30m."),
        (Part, Part(), {}, ""),
        (str, "", "", ""),
        (tuple[str, ...], (), [], ""),
    ],
)
def test_fixed_defaults_are_written_and_told(annotation, default, written, text):
    schema = schema_of(annotation, default)
    assert schema["default"] == written
    assert schema["description"] == f"About it.{text}"
    assert "default" not in schema_of(annotation, default, defaults=False)


def test_null_is_no_default():
    assert schema_of(int | None, None) == schema_of(int)


@pytest.mark.parametrize(
    ("annotation", "default", "words"),
    [
        (int | str, ..., "choice of several types"),
        (Part | str, ..., "choice of several types"),
        (tuple[int, str], ..., "prefixItems"),
        (set[int], ..., "uniqueItems"),
        (Any, ..., "no type"),
        (Annotated[int, Field(multiple_of=2)], ..., "multipleOf"),
        (dict[Annotated[str, Field(pattern="a")], int], ..., "patternProperties"),
        (Annotated[str, Field(json_schema_extra={"x-kubernetes-embedded-resource": True})], ..., "x-kubernetes-embed"),
        (Part, Part(wide=False), "differs from the defaults of its parts"),
    ],
)
def test_what_has_no_structural_form_raises_and_names_the_field(annotation, default, words):
    with pytest.raises(UnknownSchemaError, match=words) as caught:
        schema_of(annotation, default)
    assert "Thing.someField" in str(caught.value)


def test_a_field_without_description_raises():
    with pytest.raises(UnknownSchemaError, match=r"Thing\.someField: no description"):
        schema_of(int, description=None)
