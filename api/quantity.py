"""Quantities and prices: text in the API, exact numbers in the code, never a float.

Kubernetes quantities become integers: millicores for CPU, whole units for all else. Rounding happens once, upwards, at
the end, as the scheduler itself does. Prices become `Decimal`.
Source: apimachinery `resource.Quantity` (MilliValue and Value round up); suffixes as in its docs.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from api.rules import RULES, UNIT, Text, rule

_NUMBER: Final = re.compile(r"^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(.*)$", re.DOTALL)
_EXPONENT: Final = re.compile(r"^[eE]([+-]?[0-9]{1,3})$")
_SUFFIX: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_LONGEST_TEXT: Final = 64
"""A longer number is an attack or an accident; exact arithmetic on it would be slow."""
_LONGEST_QUOTED: Final = 100
_LARGEST: Final = 2**63 - 1
"""Larger values become this one, as in apimachinery, so that every amount fits 64 bits."""
PRICE: Final = Text(
    pattern="^[0-9]{1,9}([.][0-9]{1,9})?$",
    longest=19,
    form='a decimal number in quotes, such as "0.0106", with at most nine digits on either side',
)
_PRICE_UNIT: Final = 'A decimal number in quotes, such as "0.0106".'
_HOURS_PER_MONTH: Final = 730
_BYTES: Final = ("memory", "ephemeral-storage")
_BINARY_SUFFIXES: Final = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def parse_quantity(text: object) -> Fraction:
    """Return the exact value of `text`, a string or a JSON number, within 64 bits.

    Raises:
        ValueError: not a quantity; the message quotes the text.
    """
    written = str(text) if isinstance(text, (int, float)) and not isinstance(text, bool) else text
    if isinstance(written, str) and len(written) <= _LONGEST_TEXT:
        value = _value(written)
        if value is not None:
            return value
    quoted = repr(text)
    if len(quoted) > _LONGEST_QUOTED:
        quoted = f"{quoted[: _LONGEST_QUOTED - 1]}…"
    msg = f'{quoted} is not a quantity: write a number with a Kubernetes suffix, such as "500m", "2" or "4Gi"'
    raise ValueError(msg)


@lru_cache(maxsize=4096)
def _value(written: str) -> Fraction | None:
    """Return the value of a text; None if it is no quantity. The same few texts are on all pods, Nodes and classes."""
    match = _NUMBER.match(written)
    if match is None:
        return None
    number, suffix = match.groups()
    if suffix in _SUFFIX:
        return _bounded(Fraction(number) * _SUFFIX[suffix])
    exponent = _EXPONENT.match(suffix)
    return None if exponent is None else _bounded(Fraction(number) * Fraction(10) ** int(exponent.group(1)))


def parse_units(text: object) -> int:
    """Return the value in whole units (bytes, pods, devices), rounded up.

    Raises:
        ValueError: not a quantity.
    """
    return _ceil(parse_quantity(text))


def parse_millis(text: object) -> int:
    """Return the value in thousandths (millicores), rounded up.

    Raises:
        ValueError: not a quantity.
    """
    return _ceil(parse_quantity(text) * 1000)


def parse_amount(resource: str, text: object) -> int:
    """Return the amount of a resource, rounded up: cpu in millicores, all else in whole units.

    Raises:
        ValueError: not a quantity.
    """
    return parse_millis(text) if resource == "cpu" else parse_units(text)


def format_amount(resource: str, amount: int) -> str:
    """Return an amount (cpu in millicores, all else in whole units) as an exact quantity."""
    return f"{amount}m" if resource == "cpu" else str(amount)


def _bounded(value: Fraction) -> Fraction:
    return max(min(value, Fraction(_LARGEST)), Fraction(-_LARGEST))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


_FORM: Final = 'must be a number that is not negative, with a Kubernetes suffix such as "500m", "2" or "4Gi"'


def _check(text: object) -> str:
    if isinstance(text, float):
        msg = f'{text} must be written in quotes, as "{text}": the API server takes no bare fractions here'
        raise ValueError(msg)  # noqa: TRY004 - pydantic turns only this one into a fault of the field
    try:
        holds = parse_quantity(text) >= 0
    except ValueError:
        holds = False
    if not holds:
        msg = f"{text!r} {_FORM}"
        raise ValueError(msg)
    return str(text)


Quantity = Annotated[
    str,
    BeforeValidator(_check),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": _LONGEST_TEXT,
            RULES: [
                rule(
                    "type(self) == int ? self >= 0 : isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",
                    _FORM,
                )
            ],
        }
    ),
]
"""A non-negative quantity, kept as its text."""


def parse_price(text: object) -> Decimal:
    """Return the price that `text` names.

    Raises:
        ValueError: not a plain decimal text with at most nine digits on either side.
    """
    if isinstance(text, Decimal):
        return text
    if not isinstance(text, str) or not re.fullmatch(PRICE.pattern, text):
        msg = f"{text!r} must be {PRICE.form}"
        raise ValueError(msg)
    return Decimal(text)


def price_per_month(per_hour: Decimal) -> Decimal:
    """Return a price per hour for a month, which is 730 hours here: exact, nothing is rounded.

    Source: a year of 8,760 hours in twelve parts, as clouds quote it.
    """
    return per_hour * _HOURS_PER_MONTH


def format_price(price: Decimal) -> str:
    """Return `price` without an exponent and without trailing zeros."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Price = Annotated[
    Decimal,
    BeforeValidator(parse_price),
    PlainSerializer(format_price, return_type=str),
    WithJsonSchema(PRICE.schema() | {UNIT: _PRICE_UNIT}),
]
"""A price as text."""


def rounded_amounts(amounts: Mapping[str, int]) -> str:
    """Return amounts as one text, by the names of the resources: "cpu 1.5, memory 3.2Gi"."""
    return ", ".join(f"{name} {rounded_amount(name, amount)}" for name, amount in sorted(amounts.items()))


def rounded_amount(resource: str, amount: int) -> str:
    """Return an amount (millicores, or whole units) as text, bytes rounded to one decimal: "1.5", "250m", "3.2Gi"."""
    if resource == "cpu":
        return f"{amount}m" if amount % 100 else f"{amount / 1000:g}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        for suffix, size in _BINARY_SUFFIXES:
            if amount >= size:
                return f"{amount / size:.1f}".removesuffix(".0") + suffix
    return str(amount)
