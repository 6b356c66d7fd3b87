from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from api.quantity import Price, format_price, parse_price


@given(st.decimals(0, 999_999_999, places=9, allow_nan=False))
def test_what_is_written_is_read_back_equal(price):
    assert parse_price(format_price(price)) == price


@pytest.mark.parametrize(
    ("text", "price", "written"),
    [
        ("0.0106", Decimal("0.0106"), "0.0106"),
        ("10", Decimal(10), "10"),
        ("100.00", Decimal(100), "100"),
        ("0", Decimal(0), "0"),
        ("0.000000001", Decimal("1E-9"), "0.000000001"),
    ],
)
def test_known_values(text, price, written):
    assert parse_price(text) == price
    assert format_price(parse_price(text)) == written
    assert format_price(price) == written


def test_prices_add_up_exactly():
    assert sum(parse_price("0.1") for _ in range(3)) == parse_price("0.3")


WRONG = [
    "",
    "-1",
    "+1",
    "1e3",
    ".5",
    "1.",
    "1,5",
    "0.0000000001",
    "1234567890",
    "1\n",
    " 1",
    "NaN",
    0.01,
    1,
    None,
    True,
]


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="must be a decimal number in quotes") as caught:
        parse_price(text)
    assert repr(text) in str(caught.value)


def test_it_goes_over_json_as_text():
    adapter = TypeAdapter(Price)
    assert adapter.dump_python(Decimal("1E+2"), mode="json") == "100"
