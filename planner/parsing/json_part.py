"""Reads API JSON with the path of every field at hand, so that a wrong one is named and not guessed."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from api.quantity import parse_amount, parse_quantity

T = TypeVar("T")


class FieldError(ValueError):
    """A field that cannot be read: its path and what is wrong with it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Part:
    """A JSON object and where it stands; an absent or null field reads as empty, as in the Kubernetes API."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise FieldError(path or "object", f"{_shown(value)} is not an object with fields")
        self.value: Mapping[str, Any] = value
        self.path = path

    def where(self, key: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Return whether the field is there and not null."""
        return self.value.get(key) is not None

    def text(self, key: str) -> str:
        """Return a text, empty if absent."""
        value = self.value.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise FieldError(self.where(key), f"{_shown(value)} is not a text: put it in quotes")
        return value

    def name(self, key: str) -> str:
        """Return a text that must be there."""
        text = self.text(key)
        if not text:
            raise FieldError(self.where(key), "a name is needed")
        return text

    def flag(self, key: str) -> bool:
        """Return a boolean, false if absent."""
        value = self.value.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise FieldError(self.where(key), f"{_shown(value)} is neither true nor false")
        return value

    def number(self, key: str) -> int:
        """Return an integer, 0 if absent."""
        value = self.value.get(key)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value.bit_length() >= _BITS:
            raise FieldError(self.where(key), f"{_shown(value)} is not a whole number")
        return value

    def part(self, key: str) -> "Part":
        """Return an object, an empty one if absent."""
        value = self.value.get(key)
        return Part({} if value is None else value, self.where(key))

    def parts(self, key: str) -> Iterator["Part"]:
        """Yield the objects of a list."""
        for index, item in enumerate(self._list(key)):
            yield Part(item, f"{self.where(key)}[{index}]")

    def length(self, key: str) -> int:
        """Return the number of items of a list."""
        return len(self._list(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        items = self._list(key)
        for index, item in enumerate(items):
            if not isinstance(item, str):
                raise FieldError(f"{self.where(key)}[{index}]", f"{_shown(item)} is not a text: put it in quotes")
        return tuple(items)

    def text_map(self, key: str) -> dict[str, str]:
        """Return an object whose values are texts, such as labels."""
        part = self._named_values(key)
        for name, value in part.value.items():
            if not isinstance(value, str):
                raise FieldError(part.where(name), f"{_shown(value)} is not a text: put it in quotes")
        return dict(part.value)

    def amounts(self, key: str) -> dict[str, int]:
        """Return a resource list: cpu in millicores, all else in whole units, rounded up.

        Raises:
            FieldError: a value is not a quantity or is negative.
        """
        part = self._named_values(key)
        return {name: _read(part.where(name), _amount, name, value) for name, value in part.value.items()}

    def moment(self, key: str) -> datetime | None:
        """Return a time in UTC, or None if absent."""
        text = self.text(key)
        return _read(self.where(key), _moment, text) if text else None

    def _named_values(self, key: str) -> "Part":
        part = self.part(key)
        for name in list[object](part.value):
            if not isinstance(name, str):
                # JSON has no other names, but YAML has.
                raise FieldError(part.path, f"the name {_shown(name)} is not a text: put it in quotes")
        return part

    def _list(self, key: str) -> list[Any]:
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise FieldError(self.where(key), f"{_shown(value)} is not a list")
        return value


def _read(path: str, read: Callable[..., T], *values: Any) -> T:
    try:
        return read(*values)
    except (ValueError, TypeError) as error:
        raise FieldError(path, str(error)) from None


def _amount(name: str, text: object) -> int:
    if not isinstance(text, (str, int, float)):
        msg = f"{_shown(text)} is not a quantity"
        raise ValueError(msg)  # noqa: TRY004 - one error type for a field that cannot be read
    return _exact_amount(name, text)


@lru_cache(maxsize=4096, typed=True)
def _exact_amount(name: str, text: float | str) -> int:
    # The same few texts stand on thousands of pods; exact fractions are slow to make again.
    if parse_quantity(text) < 0:
        msg = f"{text!r} is negative"
        raise ValueError(msg)
    return parse_amount(name, text)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = f"{text!r} has no time zone: end it with Z"
        raise ValueError(msg)
    return moment


_LONGEST_SHOWN = 60
_BITS = 64
"""The API has no longer numbers, the sign included."""


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        # YAML can hold numbers of more digits than Python prints.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
