"""Rules that hold in two places: the API server refuses on writing, pydantic on reading.

A rule stands next to the validator that says the same in Python, because objects also come from
files, which no API server has seen. Rules are written in CEL instead of `pattern`, as the API
server shows a rule's message to people and shows only the expression of a pattern.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

Schema = dict[str, Any]
"""A JSON schema or a part of it."""
RULES: Final = "x-kubernetes-validations"
UNIT: Final = "x-growth-unit"
"""A sentence on what a value is counted in or how it is written; ends the description of each field of its type."""
_BOUND: Final = 64


def rule(expression: str, message: str, *, path: str | None = None) -> Schema:
    """Return one CEL rule; `path` names the field below the schema that the error shall point to."""
    return {"rule": expression, "message": message} | ({"fieldPath": path} if path else {})


def rules(*parts: Schema, further: Schema | None = None) -> ConfigDict:
    """Return the model configuration that carries these CEL rules, and `further` keys, into the model's schema."""
    return ConfigDict(json_schema_extra={RULES: list(parts), **(further or {})} if parts else further or {})


@dataclass(frozen=True, slots=True)
class Text:
    """Text of one form, as an annotation of `str`."""

    pattern: str
    """Regular expression of the whole text, in the common part of RE2 and Python, without backslashes."""
    longest: int
    """Characters at most. CEL's cost estimate needs a bound."""
    form: str
    """Ends the sentence "it must be ..."."""

    def check(self, text: str) -> str:
        """Return `text`.

        Raises:
            ValueError: it has another form or is too long.
        """
        if len(text) > self.longest or not re.fullmatch(self.pattern, text):
            msg = f"{text!r} must be {self.form}"
            raise ValueError(msg)
        return text

    def rule(self, path: str = "self", field: str | None = None) -> Schema:
        """Return the CEL rule that checks the text found at `path`."""
        return rule(f"{path}.matches('{self.pattern}')", f"must be {self.form}", path=field)

    def schema(self, *further: Schema) -> Schema:
        """Return the schema of such a text, with further rules behind its own."""
        # A bound that is a little above the rule's own lets the rule speak instead.
        return {"type": "string", "maxLength": max(self.longest, _BOUND), RULES: [self.rule(), *further]}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> Schema:
        return self.schema()


@dataclass(frozen=True, slots=True)
class Check:
    """One rule in both languages, as an annotation of a field's type."""

    holds: Callable[[Any], bool]
    expression: str
    """The same in CEL."""
    message: str

    def _check(self, value: Any) -> Any:
        if not self.holds(value):
            raise ValueError(self.message)
        return value

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> Schema:
        schema = handler(core)
        return schema | {RULES: [*schema.get(RULES, []), rule(self.expression, self.message)]}


def distinct(*fields: str, ignore_case: bool = False, optional: bool = False) -> Check:
    """Return the check that no two items of a list agree in all these text fields (one-word names).

    Items without the fields are passed over if these are `optional`.
    """
    function = ".lowerAscii()" if ignore_case else ""
    same = " && ".join(f"a.{field}{function} == b.{field}{function}" for field in fields)

    def has(item: str) -> str:
        return " && ".join(f"has({item}.{field})" for field in fields)

    def key(item: object) -> tuple[str, ...]:
        values = (str(getattr(item, field)) for field in fields)
        return tuple(value.lower() for value in values) if ignore_case else tuple(values)

    def holds(items: Sequence[object]) -> bool:
        counted = [item for item in items if not optional or all(getattr(item, one) is not None for one in fields)]
        return len({key(item) for item in counted}) == len(counted)

    note = " (upper and lower case are the same)" if ignore_case else ""
    each = f"!({has('a')}) || self.exists_one(b, {has('b')} && {same})" if optional else f"self.exists_one(b, {same})"
    return Check(holds, f"self.all(a, {each})", f"each {' and '.join(fields)} may stand only once{note}")
