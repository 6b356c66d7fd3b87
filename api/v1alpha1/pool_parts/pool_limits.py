"""How many machines a pool keeps, how many it may have, and what they may come to in cores, memory and money."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from api.model import Model
from api.quantity import Quantity
from api.rules import RULES, Text, rule, rules
from api.v1alpha1.pool_server_type import MIN_ABOVE_MAX, Count, Most

_CPU: Final = Text(
    pattern="^([1-9][0-9]{0,8}(m|[.][0-9]{1,3})?|0[.]0{0,2}[1-9][0-9]{0,2})$",
    longest=13,
    form='a number of cores above 0, such as 32, "1.5" or "500m"',
)
_MEMORY: Final = Text(
    pattern="^([1-9][0-9]{0,8}([.][0-9]{1,3})?|0[.]0{0,2}[1-9][0-9]{0,2})(k|[KMGTP]i|[MGTP])$",
    longest=15,
    form='a quantity above 0 with a unit, such as "64Gi"',
)
_MONEY: Final = Text(
    pattern="^([1-9][0-9]{0,8}([.][0-9]{1,9})?|0[.]0{0,8}[1-9][0-9]{0,8})$",
    longest=19,
    form='a decimal number above 0 in quotes and without a currency, such as "0.25"',
)


def _cores(value: object) -> str:
    return _CPU.check(value if isinstance(value, str) else str(value))


def _int_or_string(form: Text) -> dict[str, Any]:
    text = f"self.matches('{form.pattern}')"
    return {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "maxLength": 64,
        RULES: [rule(f"type(self) == int ? self > 0 && self <= 999999999 : {text}", f"must be {form.form}")],
    }


class NamespaceLimits(Model):
    """Bounds on what is bought for the pods of one namespace."""

    machines: Most | None = None
    """Most machines at any time of which one namespace's pods request most of the cpu. Without it, any number."""
    cpu: Quantity | None = None
    """Most cpu that pods of one namespace request on machines of the pool. Without it, any amount."""


class PoolLimits(Model):
    """Bounds over all server types of the pool."""

    model_config = rules(MIN_ABOVE_MAX)

    min: Count = 0
    """Machines that are kept even without load, whatever their type."""
    max: Most | None = None
    """Most machines at any time, over all types. Without it, every server type needs a max of its own."""
    cpu: Annotated[str, BeforeValidator(_cores), WithJsonSchema(_int_or_string(_CPU))] | None = None
    """Most cores of all machines together, by their server types. Without it, as many as max allows."""
    memory: Annotated[str, _MEMORY] | None = None
    """Most memory of all machines together, by their server types, with a unit. Without it, as much as max allows."""
    price_per_hour: Annotated[str, _MONEY] | None = None
    """Most that all machines together cost per hour, in the currency of the class. Without it, what max allows."""
    per_namespace: NamespaceLimits | None = None
    """Bounds on what is bought for pods of each single namespace. Without it, none."""

    @model_validator(mode="after")
    def _bounds(self) -> "PoolLimits":
        if self.max is not None and self.min > self.max:
            msg = f"min {self.min} is above max {self.max}"
            raise ValueError(msg)
        return self
