"""Money as exact decimals: text in the API, `Decimal` in the code, never a float."""

import re
from decimal import Decimal
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from api.rules import UNIT, Text

_PRICE: Final = Text(
    pattern="^[0-9]{1,9}([.][0-9]{1,9})?$",
    longest=19,
    form='a decimal number in quotes, such as "0.0106", with at most nine digits on either side',
)
_UNIT: Final = 'A decimal number in quotes, such as "0.0106".'


def parse_price(text: object) -> Decimal:
    """Return the price that `text` names.

    Raises:
        ValueError: not a plain decimal text with at most nine digits on either side.
    """
    if isinstance(text, Decimal):
        return text
    if not isinstance(text, str) or not re.fullmatch(_PRICE.pattern, text):
        msg = f"{text!r} must be {_PRICE.form}"
        raise ValueError(msg)
    return Decimal(text)


def format_price(price: Decimal) -> str:
    """Return `price` without an exponent and without trailing zeros."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Price = Annotated[
    Decimal,
    BeforeValidator(parse_price),
    PlainSerializer(format_price, return_type=str),
    WithJsonSchema(_PRICE.schema() | {UNIT: _UNIT}),
]
"""A price as text."""
