"""An entry of a pool's `serverTypes`: which types it is for, by their name, a pattern or requirements, and its bounds.

What an entry is for is judged against the offerings of the pool's class: `planner.supply.allowed_types`.
"""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from api.model import Model
from api.names import LabelValue
from api.quantity import PRICE
from api.rules import Schema, Text, rule, rules

Count = Annotated[int, Field(strict=True, ge=0, le=100_000)]
Most = Annotated[int, Field(strict=True, ge=1, le=100_000)]
Priority = Annotated[int, Field(strict=True, ge=-1000, le=1000)]
"""The higher number goes first."""
MIN_ABOVE_MAX: Final = rule("!has(self.min) || !has(self.max) || self.min <= self.max", "min is above max")

_PATTERN: Final = Text(
    pattern="^[-A-Za-z0-9_.*?]{1,63}$",
    longest=63,
    form='a name in which "*" is any text and "?" one character, such as "cx*": letters, digits, "-", "_" and ".", '
    "at most 63 in all",
)


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        msg = "each location may stand only once"
        raise ValueError(msg)
    return names


Locations = Annotated[
    tuple[LabelValue, ...],
    # The API server compares the items of a set by itself: a rule that did so in each entry would cost too much.
    Field(min_length=1, max_length=50, json_schema_extra={"x-kubernetes-list-type": "set"}),
    AfterValidator(_each_once),
]
"""Names of locations, at least one."""


_NAMED: Final = ("In", "NotIn")
_VALUES: Final = {
    "architecture": "^(amd64|arm64)$",
    "cores": "^[0-9]{1,6}$",
    "memory": "^[0-9]{1,9}([.][0-9]{1,3})?(k|[KMGTP]i|[MGTP])$",
    "dedicated": "^(true|false)$",
    "price": PRICE.pattern,
}
"""Form of a value by the key of its requirement."""
_FORMS: Final = {
    "architecture": "architecture is amd64 or arm64",
    "cores": 'cores must be whole numbers in quotes, such as "4"',
    "memory": 'memory must be quantities with a unit, such as "4Gi"',
    "dedicated": 'dedicated is "true" or "false", in quotes',
    "price": 'price must be decimal numbers per hour in the currency of the class, in quotes, such as "0.0106"',
}
_ONE_VALUE: Final = rule(
    f"self.operator in {list(_NAMED)} || self.values.size() == 1", "Gt, Gte, Lt and Lte take exactly one value"
)
_NO_ORDER: Final = rule(
    f"!(self.key in ['architecture', 'dedicated']) || self.operator in {list(_NAMED)}",
    "architecture and dedicated take the operators In and NotIn only",
)
_NO_LIST: Final = rule(
    f"self.key != 'price' || !(self.operator in {list(_NAMED)})", "price takes the operators Gt, Gte, Lt and Lte only"
)


def _of_form(key: str) -> Schema:
    return rule(f"self.key != '{key}' || self.values.all(v, v.matches('{_VALUES[key]}'))", _FORMS[key])


class ServerTypeRequirement(Model):
    """What a server type must be like. A type of which the fact is not known does not meet it."""

    model_config = rules(_ONE_VALUE, _NO_ORDER, _NO_LIST, *(_of_form(key) for key in _VALUES))

    key: Literal["architecture", "cores", "memory", "dedicated", "price"]
    """What is compared: architecture, cores, memory, dedicated (its cores), or price (per hour, with its address)."""
    operator: Literal["In", "NotIn", "Gt", "Gte", "Lt", "Lte"]
    """How it is compared: equal to one of the values, to none of them, or above, at least, below, at most the value."""
    values: Annotated[tuple[Annotated[str, Field(max_length=32)], ...], Field(min_length=1, max_length=20)]
    """Values in quotes, for Gt, Gte, Lt and Lte one; memory has a unit, such as 4Gi, dedicated is true or false."""

    def __str__(self) -> str:
        return f"{self.key} {self.operator} {', '.join(self.values)}"

    @model_validator(mode="after")
    def _consistent(self) -> "ServerTypeRequirement":
        is_named = self.operator in _NAMED
        if not is_named and len(self.values) > 1:
            raise ValueError(_ONE_VALUE["message"])
        if not is_named and self.key in {"architecture", "dedicated"}:
            raise ValueError(_NO_ORDER["message"])
        if is_named and self.key == "price":
            raise ValueError(_NO_LIST["message"])
        for value in self.values:
            if not re.fullmatch(_VALUES[self.key], value):
                msg = f"{value!r}: {_FORMS[self.key]}"
                raise ValueError(msg)
        return self


_ONE_OF: Final = rule(
    "[has(self.name), has(self.pattern), has(self.requirements)].exists_one(given, given)",
    "give exactly one of name, pattern and requirements",
)
_MIN_WITHOUT_NAME: Final = rule(
    "has(self.name) || !has(self.min) || self.min == 0", "min is only for an entry with a name"
)


class PoolServerType(Model):
    """Server types that the pool may buy. Of several entries that match a type, the first one holds."""

    model_config = rules(MIN_ABOVE_MAX, _ONE_OF, _MIN_WITHOUT_NAME)

    name: LabelValue | None = None
    """Name of a type in its class; CAX11 and cax11 are the same. Without it, a pattern or requirements."""
    pattern: Annotated[str, _PATTERN] | None = None
    """Names of types, such as cx*: * is any text, ? one character. Without it, a name or requirements."""
    requirements: Annotated[tuple[ServerTypeRequirement, ...], Field(min_length=1, max_length=10)] | None = None
    """What types must be like, all of it. Without it, a name or a pattern."""
    locations: Locations | None = None
    """Names of the locations where these types may be bought, of those of the pool. Without it, each of them."""
    min: Count = 0
    """Machines of this type that are kept even without load; only with a name."""
    max: Most | None = None
    """Most machines at any time, of all types of this entry together. Without it, only the pool's limit holds."""
    priority: Priority = 0
    """The higher number wins: between equally cheap types, or before any price where scaleUp.choose is priority."""

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.pattern is not None:
            return f'pattern "{self.pattern}"'
        return f"requirements {' and '.join(str(each) for each in self.requirements or ())}"

    @field_validator("name", "pattern")
    @classmethod
    def _lower(cls, text: str | None) -> str | None:
        return None if text is None else text.lower()

    @model_validator(mode="after")
    def _consistent(self) -> "PoolServerType":
        if sum(each is not None for each in (self.name, self.pattern, self.requirements)) != 1:
            raise ValueError(_ONE_OF["message"])
        if self.min and self.name is None:
            raise ValueError(_MIN_WITHOUT_NAME["message"])
        if self.max is not None and self.min > self.max:
            msg = f"min {self.min} is above max {self.max}"
            raise ValueError(msg)
        return self
