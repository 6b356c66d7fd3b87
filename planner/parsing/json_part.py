"""Reads API JSON with the path of every field at hand, so that a wrong one is named and not guessed."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

from api.quantity import parse_amount, parse_quantity

T = TypeVar("T")


class FieldError(ValueError):
    """A field that cannot be read: its path and what is wrong with it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Part:
    """A JSON object and where it stands; an absent or null field reads as empty, as in the Kubernetes API.

    Args:
        value: the object.
        path: where it stands, as text.
        above: the part that it is in, in place of the text: millions of paths are never told to anyone.
        step: key in the part above.
        index: position, where there is a list at that key.
    """

    __slots__ = ("_above", "_index", "_path", "_step", "value")

    def __init__(
        self, value: Any, path: str = "", above: "Part | None" = None, step: str = "", index: int | None = None
    ) -> None:
        self.value: Mapping[str, Any] = value
        self._path = path
        self._above = above
        self._step = step
        self._index = index
        if not isinstance(value, dict):
            raise FieldError(self.path or "object", f"{_shown(value)} is not an object with fields")

    @property
    def path(self) -> str:
        """Where it stands; empty for the whole object."""
        if self._above is None:
            return self._path
        here = self._above.where(self._step)
        return here if self._index is None else f"{here}[{self._index}]"

    def where(self, key: str) -> str:
        """Return the path of a field."""
        path = self.path
        return f"{path}.{key}" if path else key

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
        return Part({} if value is None else value, "", self, key)

    def parts(self, key: str) -> Iterator["Part"]:
        """Yield the objects of a list."""
        return _NOTHING if self.value.get(key) is None else self._each(key)

    def _each(self, key: str) -> Iterator["Part"]:
        for index, item in enumerate(self._list(key)):
            yield Part(item, "", self, key, index)

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
        if self.value.get(key) is None:
            return {}
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
        if self.value.get(key) is None:
            return {}
        part = self._named_values(key)
        return {name: part.read(name, _amount, name, value) for name, value in part.value.items()}

    def moment(self, key: str) -> datetime | None:
        """Return a time in UTC, or None if absent."""
        text = self.text(key)
        return self.read(key, _moment, text) if text else None

    def read(self, key: str, read: Callable[..., T], *values: Any) -> T:
        """Return what `read` makes of these values of a field.

        Raises:
            FieldError: it raises ValueError or TypeError; names the field.
        """
        try:
            return read(*values)
        except (ValueError, TypeError) as error:
            raise FieldError(self.where(key), str(error)) from None

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


_NOTHING: Final[Iterator[Part]] = iter(())
"""The objects of a list that is not there: it is at its end, however often it is asked."""


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
