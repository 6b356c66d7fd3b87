"""What `kubectl explain` tells: each field in sentences, with default and unit, and what it means to leave it out."""

import json
import re
from collections.abc import Iterator

import pytest

from api.rules import Schema
from tests.api.test_schema import RENDERED, SCHEMAS, walk

DURATION = "duration(self)"
"""In the CEL rule of each duration."""
PRICE = "a decimal number in quotes"
"""In the message of each price's CEL rule."""
OF_PROGRAMS = re.compile(r"\b(None|tuple|dict|str|bool|int|float|timedelta|pydantic|[a-z]+_[a-z_]+)\b")
"""Words of Python, which no reader of a CRD knows."""


def fields(kind: str) -> Iterator[tuple[str, Schema, bool]]:
    """Yield path, schema and whether it may be left out, of spec, status and each field below them."""
    for path, schema in walk(SCHEMAS[kind], kind):
        if path != kind and not path.startswith((f"{kind}.spec", f"{kind}.status")):
            continue
        for name, field in schema.get("properties", {}).items():
            if path != kind or name in {"spec", "status"}:
                yield f"{path}.{name}", field, name not in schema.get("required", [])


def says(schema: Schema, key: str) -> bool:
    return any(key in rule["rule"] + rule["message"] for rule in schema.get("x-kubernetes-validations", []))


@pytest.mark.parametrize("kind", RENDERED)
def test_a_description_is_made_of_whole_sentences_for_users(kind):
    for path, schema, _ in fields(kind):
        text = schema["description"]
        assert re.fullmatch(r"[A-Z].*\.", text), path
        assert "  " not in text, path
        assert not OF_PROGRAMS.search(text), path


@pytest.mark.parametrize("kind", RENDERED)
def test_a_description_names_all_values_or_leaves_them_to_kubectl(kind):
    for path, schema, _ in fields(kind):
        values = set(schema.get("enum", []))
        told = {value for value in values if re.search(rf"\b{value}\b", schema["description"])}
        assert told in (set(), {str(schema.get("default"))}, values), path


@pytest.mark.parametrize("kind", RENDERED)
def test_what_may_be_left_out_says_what_then_holds(kind):
    for path, schema, is_optional in fields(kind):
        default = schema.get("default")
        if default not in (None, "", [], {}):
            told = default if isinstance(default, str) else json.dumps(default)
            assert schema["description"].endswith(f" Default: {told}."), path
        elif is_optional and path.startswith(f"{kind}.spec.") and "properties" not in schema:
            assert re.search(r"\bWithout it, |\bDefault: ", schema["description"]), path


@pytest.mark.parametrize("kind", RENDERED)
def test_durations_and_prices_name_their_unit(kind):
    for path, schema, _ in fields(kind):
        text = schema["description"]
        assert says(schema, DURATION) == ("A number with a unit: ms, s, m or h." in text), path
        assert says(schema, PRICE) == ('A decimal number in quotes, such as "0.0106".' in text), path
        assert not says(schema, PRICE) or " per hour" in text or "calendar month" in text, path


def test_there_are_durations_and_prices_to_look_at():
    found = [schema for kind in RENDERED for _, schema, _ in fields(kind)]
    assert sum(says(schema, DURATION) for schema in found) == 34
    assert sum(says(schema, PRICE) for schema in found) == 10
