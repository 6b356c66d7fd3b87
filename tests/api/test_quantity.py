"""The official client's parser is the oracle; where it differs from Kubernetes' grammar, the grammar holds.

Kubernetes documentation, "Resource Management for Pods and Containers"; apimachinery `resource.Quantity`.
"""

from decimal import ROUND_CEILING, Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity as oracle

from api.quantity import format_price, parse_millis, parse_quantity, parse_units, price_per_month

LARGEST = 2**63 - 1
SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

digits = st.text("0123456789", min_size=1, max_size=18)
number = st.one_of(
    digits,
    st.tuples(digits, digits).map(".".join),
    digits.map(lambda text: f"{text}."),
    digits.map(lambda text: f".{text}"),
)
sign = st.sampled_from(["", "+", "-"])
exponent = st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 30)).map(
    lambda parts: f"{parts[0]}{parts[1]}{parts[2]}"
)
quantity = st.tuples(sign, number, st.one_of(st.sampled_from(SUFFIXES), exponent)).map("".join)


def expected(text: str, scale: int) -> int:
    # The default context rounds to 28 digits, which a long number times 1024^6 exceeds.
    with localcontext(prec=120):
        # The oracle has no bound; Kubernetes holds a quantity to 64 bits.
        value = max(min(oracle(text), Decimal(LARGEST)), Decimal(-LARGEST))
        return int((value * scale).to_integral_value(ROUND_CEILING))


@given(quantity)
@example("-0.5Ki")
@example("1E")
@example("1E3")
@example("999999999999999999.999999999999999999Ei")
def test_every_form_is_read_as_the_client_reads_it(text):
    assert parse_units(text) == expected(text, 1)
    assert parse_millis(text) == expected(text, 1000)


@given(quantity)
def test_the_value_is_exact_before_it_is_rounded(text):
    with localcontext(prec=120):
        value = oracle(text)
    if abs(value) <= LARGEST:
        assert parse_quantity(text) == value


@pytest.mark.parametrize(
    ("text", "units", "millis"),
    [
        ("100m", 1, 100),
        ("0.5", 1, 500),
        ("1G", 10**9, 10**12),
        ("1Gi", 2**30, 1000 * 2**30),
        ("1e3", 1000, 10**6),
        ("1E3", 1000, 10**6),
        ("1E", 10**18, 10**21),
        ("128974848", 128974848, 128974848000),
        ("129e6", 129000000, 129000000000),
        ("128974848000m", 128974848, 128974848000),
        ("123Mi", 128974848, 128974848000),
        ("1n", 1, 1),
        ("0", 0, 0),
        ("-1500m", -1, -1500),
        (2, 2, 2000),
        (0.5, 1, 500),
        ("1e400", LARGEST, LARGEST * 1000),
        ("-9Ei", -LARGEST, -LARGEST * 1000),
    ],
)
def test_known_values(text, units, millis):
    assert parse_units(text) == units
    assert parse_millis(text) == millis


NOT_A_QUANTITY = [
    "",
    " 1",
    "1 ",
    "1\n",
    "1Kb",
    "1mi",
    "0x10",
    "NaN",
    "inf",
    "1e",
    "--1",
    ".",
    "1e3.5",
    "1,5",
    "\u0661",
    "m",
]


@pytest.mark.parametrize("text", [*NOT_A_QUANTITY, "1K", "1_000", "1e1000", "9" * 65, True, None, [], float("nan")])
def test_anything_else_is_refused_with_its_text(text):
    with pytest.raises(ValueError, match="is not a quantity") as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1K", "1_000", " 1", "1\n", "NaN"])
def test_the_oracle_takes_what_kubernetes_does_not(text):
    """Says where the property test above must not draw from; fails when the client becomes stricter."""
    oracle(text)


@pytest.mark.parametrize(
    ("hour", "month"), [("0.0066", "4.818"), ("0.000000001", "0.00000073"), ("1", "730"), ("0", "0")]
)
def test_a_month_is_730_hours(hour, month):
    assert format_price(price_per_month(Decimal(hour))) == month
