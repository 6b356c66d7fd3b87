"""Structural schemas from the models: the part of JSON schema that Kubernetes accepts.

Whatever this module does not know raises, so that no constraint is lost on the way.

Defaults: `default` is written for every field of a spec that has a fixed one, null left out. So the
stored object says what is obeyed, and a copy that a program writes back equals what was stored, also
for rules that compare it. A status has none: there a default would claim what nobody has seen yet.
Source: Kubernetes "Custom resources: structural schema, defaulting, validation rules"; API conventions, "Defaulting".
"""

import json
from datetime import timedelta
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema

from api.duration import format_duration
from api.model import Model
from api.rules import RULES, UNIT, Schema

_COPIED: Final = frozenset(
    {
        "format",
        "enum",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "maxProperties",
        "pattern",
        "required",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        RULES,
    }
)
"""Mean the same on both sides."""
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_INT_OR_STRING_FORMS: Final = [{"type": "integer"}, {"type": "string"}]


class UnknownSchemaError(ValueError):
    """A model uses a part of JSON schema that has no structural counterpart here."""


def structural_schema(model: type[Model], *, defaults: bool) -> Schema:
    """Return the structural schema of `model`, with `default` values if asked for.

    Raises:
        UnknownSchemaError: the model holds something that cannot be carried over, or a field
            without a description.
    """
    schema = model.model_json_schema(schema_generator=_Generator)
    return _Translation(schema.pop("$defs", {}), defaults=defaults).translate(schema, model.__name__)


class _Generator(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        # Pydantic would write ISO 8601 ("PT10M"), which the field itself refuses.
        return format_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


class _Translation:
    def __init__(self, parts: Schema, *, defaults: bool) -> None:
        self._parts = parts
        self._defaults = defaults

    def translate(self, given: Schema, path: str) -> Schema:
        """Return the structural form of one part; `path` is for messages."""
        schema = self._resolved(given, path)
        out: Schema = {key: schema.pop(key) for key in ("description", "type") if key in schema}
        for key, value in schema.items():
            match key:
                case "title" | "default" | "x-growth-unit":
                    pass  # A title is the name of a Python class; the others are told with the fields.
                case "const":
                    out["enum"] = [value]
                case "exclusiveMinimum" | "exclusiveMaximum":
                    out |= {key.removeprefix("exclusive").lower(): value, key: True}
                case "properties":
                    out[key] = {name: self._field(part, f"{path}.{name}") for name, part in value.items()}
                case "items" | "additionalProperties" if isinstance(value, dict):
                    out[key] = self.translate(value, f"{path}[]")
                case "additionalProperties" if value is False and "properties" in schema:
                    pass  # Unknown fields are refused by kubectl and pruned by the API server.
                case "anyOf" if value == _INT_OR_STRING_FORMS and schema.get(_INT_OR_STRING):
                    out[key] = value
                case "x-kubernetes-int-or-string" if value is True:
                    out[key] = value
                case _ if key in _COPIED:
                    out[key] = value
                case _:
                    raise UnknownSchemaError(f"{path}: {key}: {value!r} has no structural form")
        if "type" not in out and _INT_OR_STRING not in out:
            raise UnknownSchemaError(f"{path}: no type")
        return out

    def _field(self, given: Schema, path: str) -> Schema:
        schema = self.translate(given, path)
        if not schema.get("description"):
            raise UnknownSchemaError(f"{path}: no description: write a docstring under the field")
        unit = self._resolved(given, path).get(UNIT)
        if unit:
            schema["description"] += f" {unit}"
        default = given.get("default")
        if default is None or not self._defaults:
            return schema
        if isinstance(default, dict):
            if _without_empty(default) != _without_empty(_filled(schema)):
                raise UnknownSchemaError(f"{path}: the default differs from the defaults of its parts")
            default = {}  # The API server fills in the defaults of the parts.
        elif default not in ("", []):
            # `kubectl explain` does not show defaults.
            schema["description"] += f" Default: {default if isinstance(default, str) else json.dumps(default)}."
        return schema | {"default": default}

    def _resolved(self, given: Schema, path: str) -> Schema:
        """Return `given` with references and `X | None` replaced by what they stand for."""
        schema = dict(given)
        while True:
            if "$ref" in schema:
                part = self._parts[schema.pop("$ref").removeprefix("#/$defs/")]
            elif "anyOf" in schema and _INT_OR_STRING not in schema:
                forms = [form for form in schema.pop("anyOf") if form != {"type": "null"}]
                if len(forms) != 1:
                    raise UnknownSchemaError(f"{path}: a choice of several types has no structural form")
                part = forms[0]
            else:
                return schema
            both = [*part.get(RULES, []), *schema.get(RULES, [])]
            schema = part | schema | ({RULES: both} if both else {})


def _without_empty(value: Any) -> Any:
    """Return a default without its null and empty parts, which mean absence, or None when nothing is left."""
    if isinstance(value, dict):
        value = {key: kept for key, part in value.items() if (kept := _without_empty(part)) is not None}
    return None if value in ("", [], {}) else value


def _filled(schema: Schema) -> Schema:
    """Return the object that the API server makes of an empty one, by the defaults of this schema."""
    return {
        name: _filled(part) if part["default"] == {} else part["default"]
        for name, part in schema["properties"].items()
        if "default" in part
    }
