"""What the API server's rules say of an object, found with a CEL engine instead of an API server.

Only rules are looked at; types, bounds and required fields are the schema's.
"""

from collections.abc import Iterator
from typing import Any

import cel

from api.definitions import DEFINITIONS
from api.quantity import parse_quantity
from api.rules import RULES, Schema
from api.schema import definition
from tests.api.objects import Object


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


# Kubernetes' own additions to CEL; the engine has none of them. Quantities become floats, which suffices to compare.
_FUNCTIONS = {
    "lowerAscii": str.lower,
    "sum": sum,
    "isQuantity": _is_quantity,
    "quantity": lambda text: float(parse_quantity(text)),
    "isLessThan": lambda a, b: a < b,
    "isGreaterThan": lambda a, b: a > b,
}

SCHEMAS: dict[str, Schema] = {
    each.kind: definition(each)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for each in DEFINITIONS
}


def complaints(new: Object, old: Object | None = None) -> list[str]:
    """Return the messages of all rules that `new` breaks, as a new object or as a change of `old`."""
    return list(_complaints(SCHEMAS[new["kind"]], as_stored(new), as_stored(old) if old else None))


def as_stored(given: Object) -> Object:
    """Return the object as the API server stores it: without nulls, with the defaults of its schema."""
    return _defaulted(SCHEMAS[given["kind"]], given)


def _defaulted(schema: Schema, value: Any) -> Any:
    if isinstance(value, list) and "items" in schema:
        return [_defaulted(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    whole = {name: part["default"] for name, part in fields.items() if "default" in part}
    whole |= {key: part for key, part in value.items() if part is not None}
    return {key: _defaulted(fields.get(key, {}), part) for key, part in whole.items()}


def _complaints(schema: Schema, new: Any, old: Any) -> Iterator[str]:
    for rule in schema.get(RULES, []):
        about_change = "oldSelf" in rule["rule"]
        if about_change and old is None:
            continue
        context = cel.Context({"self": new} | ({"oldSelf": old} if about_change else {}))
        for name, function in _FUNCTIONS.items():
            context.add_function(name, function)
        if cel.evaluate(rule["rule"], context) is not True:
            yield rule["message"]
    if isinstance(new, dict):
        for key, value in new.items():
            below = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if below is not None:
                yield from _complaints(below, value, (old or {}).get(key))
    if isinstance(new, list):
        # Items of these lists have no keys, so the API server does not pair old and new ones either.
        for item in new:
            yield from _complaints(schema["items"], item, None)
