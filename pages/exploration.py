"""Runs a decision on everything that could be seen, so that what it may ever answer is known and not remembered.

A decision reads few of the many fields it is given, and which ones depends on what it has read before. So a model is
imagined: each field gets its value when it is read, and the decision runs again for each other value it could have
had. Two values that no decision tells apart are one here, which keeps the runs to some ten thousand.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Self, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel

NOW: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The time at which every run decides."""
_MOMENTS: Final = (timedelta(days=-30), timedelta(seconds=-1), timedelta(days=30))
"""Long ago, just now and late: what is added to a past moment is over for one of them and ahead for another."""
_SOME_TIME: Final = timedelta(minutes=7)
"""A duration that has no default."""
_MANY: Final = 1000
"""More than any limit that a count is compared with."""

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Narrowing = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]
"""Of the values of a field those to be tried, one at least, given the facts that were read before, by dotted name."""


class _Count(int):
    """A number that is written as the name of its field, so that a sentence with it reads for all numbers."""

    name: str

    def __new__(cls, value: int, name: str) -> Self:
        count = super().__new__(cls, value)
        count.name = name
        return count

    def __format__(self, format_spec: str) -> str:
        return self.name


class _Text(str):
    """A text of which only the name of its field is known: which words a decision tells apart has to be declared."""

    __slots__ = ("words",)

    words: Sequence[str] | None

    def __new__(cls, symbol: str, words: Sequence[str] | None) -> Self:
        text = super().__new__(cls, symbol)
        text.words = words
        return text

    def __eq__(self, other: object) -> bool:
        if self.words is None or other not in self.words:
            raise UndeclaredWordError(self, other)
        return False

    def __hash__(self) -> int:
        if self.words is None:
            raise UndeclaredWordError(self, "words of a set")
        return super().__hash__()


class UndeclaredWordError(Exception):
    """A decision compares a text with a word that its exploration does not know."""

    def __init__(self, text: str, other: object) -> None:
        super().__init__(f"{str.__str__(text)} is compared with {other}: give `explore` its words")


@dataclass(slots=True)
class _Fork:
    """A question of the decision, and which of its answers this run gives."""

    answers: list[Any]
    given: int = 0


@dataclass(slots=True)
class ExploredWorld:
    """What one run of a decision is shown."""

    _forks: list[_Fork]
    _words: Mapping[str, Sequence[str]]
    _narrow: Mapping[str, Narrowing]
    facts: dict[str, Any] = field(default_factory=dict)
    """What was read, by dotted name, in the order of reading."""

    def imagine(self, model: type[M]) -> M:
        """Return a `model` whose fields get their values when they are read; each time the same one."""
        return cast("M", _Imagined(self, model, ""))

    def tell(self, name: str, annotation: Any, default: Any = ...) -> Any:
        """Return this run's value for what is called `name`: the same each time.

        Raises:
            TypeError: values of this type cannot be imagined yet.
        """
        if name in self.facts:
            return self.facts[name]
        place = len(self.facts)
        if place == len(self._forks):
            answers = self._answers(name, annotation, default, place=place + 1)
            self._forks.append(_Fork([*self._narrow[name](answers, self.facts)] if name in self._narrow else answers))
        fork = self._forks[place]
        answer = fork.answers[fork.given]
        self.facts[name] = _Imagined(self, answer, f"{name}.") if isinstance(answer, type) else answer
        return self.facts[name]

    def _answers(self, name: str, annotation: Any, default: Any, *, place: int) -> list[Any]:
        """Return the values to try. Each time and duration is unique by a part of its own: sums can be taken apart."""
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self._answers(name, parts[0], default, place=place)
        if origin in (Union, UnionType):
            (kind,) = (part for part in parts if part is not NoneType)
            answers = self._answers(name, kind, default, place=place)
            # In a lifecycle, things are mostly there and times not written yet: what is found comes in that order too.
            return [None, *answers] if isinstance(answers[0], datetime) else [*answers, None]
        symbol = f"<{name.rpartition('.')[2].replace('_', ' ')}>"
        if origin is tuple:
            return [(symbol,)] if parts[0] is str else [()]
        if annotation is datetime:
            return [NOW + moment + timedelta(milliseconds=place) for moment in _MOMENTS]
        if annotation is timedelta:
            known = default if isinstance(default, timedelta) else _SOME_TIME
            return [known + timedelta(microseconds=place)]
        if annotation is bool:
            return [False, True] if default is False else [True, False]
        if annotation is int:
            is_setting = isinstance(default, int) and default > 0
            return [_Count(default, symbol)] if is_setting else [_Count(_MANY, symbol), _Count(1, symbol), 0]
        if annotation is str:
            text = _Text(symbol, self._words.get(name))
            return [text, *([""] if default == "" else []), *self._words.get(name, ())]
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return list(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return [annotation]
        msg = f"{name} is of {annotation}: say in pages/exploration.py which values of it to imagine"
        raise TypeError(msg)


class _Imagined:
    """Stands for a model: what is read of it is imagined at that moment, and stays."""

    def __init__(self, world: ExploredWorld, model: type[BaseModel], prefix: str) -> None:
        self.__dict__.update(_world=world, _model=model, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        fields = self._model.model_fields
        if name not in fields:
            return inspect.getattr_static(self._model, name).__get__(self, self._model)
        value = self._world.tell(f"{self._prefix}{name}", fields[name].annotation, fields[name].default)
        self.__dict__[name] = value
        return value


def explore(
    run: Callable[[ExploredWorld], T],
    words: Mapping[str, Sequence[str]],
    narrow: Mapping[str, Narrowing] | None = None,
) -> Iterator[T]:
    """Yield the results of `run` on each world that it can tell apart.

    Args:
        run: pure; asks its world the same in the same order for the same answers.
        words: for text fields that decisions compare, by dotted name: the texts that they tell apart from others.
        narrow: for fields of which some values change no result that matters, by dotted name: which are left.

    Raises:
        TypeError: a field of a type was read of which no values are known.
        UndeclaredWordError: a text without `words` was compared with one.
    """
    forks: list[_Fork] = []
    while True:
        yield run(ExploredWorld(forks, words, narrow or {}))
        while forks and forks[-1].given + 1 == len(forks[-1].answers):
            forks.pop()
        if not forks:
            return
        forks[-1].given += 1
