"""Settings of a peer's object, read in turn: a wrong one is told by its key, what nobody reads is remarked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from api.duration import format_duration, parse_duration
from worker.commands.convert.peer_setting import Remarks

_LONGEST: Final = 60
"""Characters of a wrong value that are quoted."""


class BadSetting(ValueError):
    """A setting that has another form than its peer takes; `key` is where it stands in the object."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}" if key else reason)
        self.key = key
        self.reason = reason


@contextmanager
def within(key: str) -> Iterator[None]:
    """Put the key in front of that of each setting that turns out to be wrong."""
    try:
        yield
    except BadSetting as error:
        raise BadSetting(f"{key}.{error.key}".removesuffix("."), error.reason) from None


def quoted(value: object) -> str:
    """Return a wrong value for a message, cut; of a list or mapping only what it is."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def read_duration(key: str, value: object) -> str:
    """Return a duration of Go, such as 10m0s, as the shortest text of ours.

    Raises:
        BadSetting: it is none, or longer than ten years.
    """
    try:
        return format_duration(parse_duration(value))
    except ValueError:
        reason = f"{quoted(value)} must be a duration of at most ten years, such as 30s, 10m or 1h30m"
        raise BadSetting(key, reason) from None


def seconds(count: int) -> str:
    """Return so many seconds as a duration."""
    return format_duration(timedelta(seconds=count))


def is_zero(duration: str) -> bool:
    """Return whether the duration is zero."""
    return parse_duration(duration) == timedelta()


class Fields:
    """A mapping of a peer's object."""

    def __init__(self, given: object, remarks: Remarks, *, key: str = "", name: str = "") -> None:
        """Take the mapping.

        Args:
            given: what stands there.
            remarks: where what is left over is told.
            key: where it stands, with indices.
            name: the same as the table has it, without.

        Raises:
            BadSetting: it is no mapping.
        """
        if not isinstance(given, Mapping):
            raise BadSetting(key, f"{quoted(given)} must be a mapping")
        self.given: Final = {str(part): value for part, value in given.items() if value is not None}
        self.remarks: Final = remarks
        self.key: Final = key
        self._name: Final = name
        self._read: Final[set[str]] = set()
        self._inner: Final[list[Fields]] = []

    def key_of(self, part: str) -> str:
        """Return where a part stands."""
        return f"{self.key}.{part}".removeprefix(".")

    def take(self, part: str, *, is_required: bool = False) -> Any:
        """Return what stands there; None if nothing does.

        Raises:
            BadSetting: it is required and missing.
        """
        self._read.add(part)
        value = self.given.get(part)
        if value is None and is_required:
            raise BadSetting(self.key_of(part), "is missing")
        return value

    def text(self, part: str, *, is_required: bool = False) -> str | None:
        """Return a text; an empty one counts as none.

        Raises:
            BadSetting: it is none, or required and missing.
        """
        value = self.take(part, is_required=is_required)
        if value is not None and not isinstance(value, str):
            raise BadSetting(self.key_of(part), f"{quoted(value)} must be text")
        if not value and is_required:
            raise BadSetting(self.key_of(part), "is empty")
        return value or None

    def whole(self, part: str, least: int = 0, most: int = 100_000, *, is_required: bool = False) -> int | None:
        """Return a whole number within bounds.

        Raises:
            BadSetting: it is none, or required and missing.
        """
        value = self.take(part, is_required=is_required)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise BadSetting(self.key_of(part), f"{quoted(value)} must be a whole number from {least} to {most}")
        return value

    def flag(self, part: str) -> bool | None:
        """Return true or false.

        Raises:
            BadSetting: it is neither.
        """
        value = self.take(part)
        if value is not None and not isinstance(value, bool):
            raise BadSetting(self.key_of(part), f"{quoted(value)} must be true or false")
        return value

    def duration(self, part: str) -> str | None:
        """Return a duration; an empty one counts as none.

        Raises:
            BadSetting: it is none.
        """
        value = self.take(part)
        return None if value is None or value == "" else read_duration(self.key_of(part), value)

    def inner(self, part: str) -> "Fields":
        """Return the mapping that stands there; an empty one if none does.

        Raises:
            BadSetting: something else does.
        """
        value = self.take(part)
        fields = Fields(
            {} if value is None else value,
            self.remarks,
            key=self.key_of(part),
            name=f"{self._name}.{part}".removeprefix("."),
        )
        self._inner.append(fields)
        return fields

    def items(self, part: str) -> Iterator[tuple[str, Any]]:
        """Yield what a list holds, each with its key.

        Raises:
            BadSetting: it is no list.
        """
        value = self.take(part)
        if value is None:
            return
        if not isinstance(value, list):
            raise BadSetting(self.key_of(part), f"{quoted(value)} must be a list")
        for index, item in enumerate(value):
            yield f"{self.key_of(part)}[{index}]", item

    def mappings(self, part: str) -> Iterator["Fields"]:
        """Yield the mappings that a list holds.

        Raises:
            BadSetting: it is no list, or holds something else.
        """
        for key, item in self.items(part):
            fields = Fields(item, self.remarks, key=key, name=f"{self._name}.{part}".removeprefix("."))
            self._inner.append(fields)
            yield fields

    def finish(self) -> None:
        """Remark what nobody has read, here and below."""
        for fields in self._inner:
            fields.finish()
        for part, value in self.given.items():
            if part in self._read:
                continue
            name = f"{self._name}.{part}".removeprefix(".")
            if name not in self.remarks.table and isinstance(value, Mapping) and self._has_parts(name):
                Fields(value, self.remarks, key=self.key_of(part), name=name).finish()
            else:
                self.remarks.left_over(self.key_of(part), name)

    def _has_parts(self, name: str) -> bool:
        return any(known.startswith(f"{name}.") for known in self.remarks.table)
