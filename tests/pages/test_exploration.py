"""Explorations are compared with what a person can count."""

from datetime import datetime, timedelta
from enum import StrEnum

import pytest
from pydantic import BaseModel

from api.duration import Duration
from api.meta import Timestamp
from pages.exploration import NOW, UndeclaredWordError, explore


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    name: str
    is_heavy: bool = False

    def title(self):
        return f"{self.name}!" if self.is_heavy else self.name


class Thing(BaseModel):
    colour: Colour
    part: Part | None = None
    count: int = 0
    limit: int = 5
    word: str = ""
    names: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    begun_at: Timestamp | None = None
    patience: Duration = timedelta(minutes=1)
    unknown: bytes = b""


def found(decide, words=None):
    return list(explore(lambda world: decide(world.imagine(Thing)), words or {}))


def test_only_what_is_read_is_told_apart():
    read = []

    def decide(thing):
        read.append(thing.colour)
        return thing.part.is_heavy if thing.colour is Colour.BLUE and thing.part else None

    assert sorted(map(str, found(decide))) == ["False", "None", "None", "True"]
    assert read == [Colour.RED, Colour.BLUE, Colour.BLUE, Colour.BLUE]


def test_what_was_read_stays_in_a_run():
    assert all(found(lambda thing: (thing.colour, thing.begun_at) == (thing.colour, thing.begun_at)))


def test_methods_of_a_model_read_it_too():
    titles = found(lambda thing: None if thing.part is None else str(thing.part.title()))
    assert [*map(str, titles)] == ["<name>", "<name>!", "None"]


def test_sentences_name_the_field_and_not_the_value():
    told = found(lambda thing: f"{thing.count} of {thing.limit} {thing.word or 'things'}: {', '.join(thing.names)}")
    some = {f"<count> of <limit> {word}: <names>" for word in ("<word>", "things")}
    assert set(told) == some | {one.replace("<count>", "0") for one in some}


def test_a_field_has_only_the_values_that_are_left_by_what_was_read_before():
    def of_red(values, facts):
        return values if facts["colour"] is Colour.BLUE else values[-1:]

    def decide(world):
        thing = world.imagine(Thing)
        return thing.colour, int(thing.count)

    assert list(explore(decide, {}, {"count": of_red})) == [
        (Colour.RED, 0),
        (Colour.BLUE, 1000),
        (Colour.BLUE, 1),
        (Colour.BLUE, 0),
    ]


def test_counts_lie_on_both_sides_of_zero_one_and_any_limit():
    assert set(found(lambda thing: (thing.count > 0, thing.count > 1, thing.count > thing.limit))) == {
        (False, False, False),
        (True, False, False),
        (True, True, True),
    }


def test_times_lie_on_both_sides_of_now_and_of_now_with_a_duration():
    def decide(thing):
        begun = thing.begun_at
        return None if begun is None else (begun <= NOW, begun + thing.patience <= NOW)

    assert set(found(decide)) == {None, (True, True), (True, False), (False, False)}


def test_each_time_and_duration_can_be_told_from_the_others():
    def decide(world):
        thing = world.imagine(Thing)
        other = world.tell("other", datetime)
        return thing.begun_at is None or (thing.begun_at - NOW) % thing.patience != (other - NOW) % thing.patience

    assert all(explore(decide, {}))


def test_a_comparison_with_a_word_that_was_not_declared_is_an_error():
    for decide in (lambda thing: thing.word == "special", lambda thing: thing.word in {"special", "other"}):
        with pytest.raises(UndeclaredWordError, match="<word> is compared with"):
            found(decide)


def test_a_comparison_with_another_word_than_the_declared_is_an_error():
    with pytest.raises(UndeclaredWordError, match="<word> is compared with other"):
        found(lambda thing: thing.word in ("special", "other"), {"word": ["special"]})


def test_declared_words_are_tried():
    assert set(found(lambda thing: thing.word == "special", {"word": ["special"]})) == {True, False}
    assert set(found(lambda thing: thing.word in {"special", "other"}, {"word": ["special", "other"]})) == {True, False}


def test_a_type_whose_values_are_not_known_is_an_error():
    with pytest.raises(TypeError, match=r"unknown is of <class 'bytes'>: say in pages/exploration\.py"):
        found(lambda thing: thing.unknown)


def test_other_tuples_are_empty():
    assert found(lambda thing: thing.parts) == [()]
