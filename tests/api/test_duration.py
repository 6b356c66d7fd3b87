from datetime import timedelta

import cel
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from api.duration import Duration, PositiveDuration, format_duration, parse_duration

TEN_YEARS = timedelta(hours=87600)


@given(st.integers(0, TEN_YEARS // timedelta(milliseconds=1)))
def test_what_is_written_is_read_back_equal(milliseconds):
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "duration", "written"),
    [
        ("90s", timedelta(seconds=90), "1m30s"),
        ("1h30m", timedelta(minutes=90), "1h30m"),
        ("1.5h", timedelta(minutes=90), "1h30m"),
        ("250ms", timedelta(milliseconds=250), "250ms"),
        ("0", timedelta(), "0s"),
        ("0s", timedelta(), "0s"),
        ("0.003h", timedelta(milliseconds=10800), "10s800ms"),
        ("5m5ms", timedelta(minutes=5, milliseconds=5), "5m5ms"),
        ("87600h", TEN_YEARS, "87600h"),
    ],
)
def test_known_values(text, duration, written):
    """Go's `time.ParseDuration` reads them so."""
    assert parse_duration(text) == duration
    assert format_duration(duration) == written


WRONG = [
    "",
    "10",
    "1",
    10,
    1.5,
    None,
    True,
    "-5s",
    "+5s",
    "5 s",
    "5s\n",
    "5d",
    "5us",
    "PT5M",
    "s",
    "1h-5m",
    "1e3s",
    "5S",
]


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="must be a number with a unit") as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["87600h1ms", "99999h", "9999999m"])
def test_more_than_ten_years_is_refused(text):
    with pytest.raises(ValueError, match="at most ten years"):
        parse_duration(text)


def accepted_by_rules(kind, text) -> bool:
    schema = TypeAdapter(kind).json_schema()
    rules = schema["x-kubernetes-validations"]
    return len(text) <= schema["maxLength"] and all(cel.evaluate(rule["rule"], {"self": text}) for rule in rules)


@pytest.mark.parametrize("kind", [Duration, PositiveDuration])
@given(text=st.text("0123456789.hms", max_size=14))
@example(text="0")
@example(text="0s")
@example(text="0m0.000h")
@example(text="87600h")
@example(text="87600h1ms")
@example(text="99999h99999h99999h99999h")
def test_the_rule_of_the_api_server_accepts_what_reading_accepts(kind, text):
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        assert not accepted_by_rules(kind, text)
    else:
        assert accepted_by_rules(kind, text)


@pytest.mark.parametrize("kind", [Duration, PositiveDuration])
def test_it_goes_over_json_as_text(kind):
    adapter = TypeAdapter(kind)
    assert adapter.dump_python(adapter.validate_python("90s"), mode="json") == "1m30s"
