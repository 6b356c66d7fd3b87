"""Reading JSON with the path at hand."""

import pytest

from planner.parsing.json_part import FieldError, Part

PART = Part(
    {
        "name": "a",
        "count": 3,
        "on": True,
        "nothing": None,
        "labels": {"x": "y"},
        "items": [{"k": "v"}, {"k": 1}],
        "words": ["a", "b"],
        "amounts": {"cpu": "1500m", "memory": "1Ki", "gpu": 2},
        "at": "2026-03-01T12:00:00+01:00",
    },
    "spec",
)


def test_what_is_there():
    assert PART.text("name") == PART.name("name") == "a"
    assert PART.number("count") == 3
    assert PART.flag("on")
    assert PART.text_map("labels") == {"x": "y"}
    assert PART.texts("words") == ("a", "b")
    assert [p.path for p in PART.parts("items")] == ["spec.items[0]", "spec.items[1]"]
    assert PART.amounts("amounts") == {"cpu": 1500, "memory": 1024, "gpu": 2}
    assert PART.moment("at").isoformat() == "2026-03-01T12:00:00+01:00"
    assert PART.has("name")


@pytest.mark.parametrize("key", ["nothing", "absent"])
def test_null_and_absence_are_empty(key):
    assert not PART.has(key)
    assert (PART.text(key), PART.number(key), PART.flag(key), PART.moment(key)) == ("", 0, False, None)
    assert (list(PART.parts(key)), PART.texts(key), PART.text_map(key), PART.amounts(key)) == ([], (), {}, {})
    assert PART.part(key).value == {}


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: PART.text("count"), "spec.count: 3 is not a text: put it in quotes"),
        (lambda: PART.number("name"), "spec.name: 'a' is not a whole number"),
        (lambda: PART.number("on"), "spec.on: True is not a whole number"),
        (lambda: PART.flag("count"), "spec.count: 3 is neither true nor false"),
        (lambda: list(PART.parts("labels")), "spec.labels: {'x': 'y'} is not a list"),
        (lambda: list(PART.parts("words")), "spec.words[0]: 'a' is not an object with fields"),
        (lambda: PART.texts("items"), "spec.items[0]: {'k': 'v'} is not a text: put it in quotes"),
        (lambda: PART.text_map("amounts"), "spec.amounts.gpu: 2 is not a text: put it in quotes"),
        (lambda: PART.amounts("labels"), "spec.labels.x: 'y' is not a quantity: write a number with"),
        (lambda: PART.moment("name"), "spec.name: Invalid isoformat string: 'a'"),
        (lambda: PART.name("nothing"), "spec.nothing: a name is needed"),
        (lambda: Part({"at": "2026-03-01T12:00:00"}).moment("at"), "at: '2026-03-01T12:00:00' has no time zone"),
        (lambda: Part({"a": {"cpu": ["1"]}}).amounts("a"), "a.cpu: ['1'] is not a quantity"),
        (lambda: Part({"a": {1: "b"}}).text_map("a"), "a: the name 1 is not a text: put it in quotes"),
        (lambda: Part({"a": {True: "1"}}).amounts("a"), "a: the name True is not a text: put it in quotes"),
        (lambda: Part({"n": 2**63}).number("n"), "n: 9223372036854775808 is not a whole number"),
        (lambda: Part({"n": 10**5000}).number("n"), "n: a value of type int is not a whole number"),
        (lambda: Part([]), "object: [] is not an object with fields"),
    ],
)
def test_what_is_wrong_is_named(read, message):
    with pytest.raises(FieldError) as raised:
        read()
    assert str(raised.value).startswith(message)


def test_a_long_value_is_shortened():
    with pytest.raises(FieldError) as raised:
        Part({"a": "x" * 500}).number("a")
    assert len(str(raised.value)) < 100
