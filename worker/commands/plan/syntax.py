"""Texts in JSON or YAML as plain data, fast enough for a dump of a whole cluster.

YAML is built from the events of libyaml, in a third of the time that PyYAML's own constructors take. A time stays
text, as the API has it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from typing import Any, Final

import yaml
from pydantic_core import from_json

_SHARED: Final = 100_000
"""Different short texts that are kept once; the rest is built anew each time."""
_TIME: Final = "tag:yaml.org,2002:timestamp"
_PLAIN: Final = (True, False)
_MERGE: Final = "<<"
_UNREAD: Final = "managedFields"
_MAP: Final = "tag:yaml.org,2002:map"
_LIST: Final = "tag:yaml.org,2002:seq"
_TEXT: Final = "tag:yaml.org,2002:str"


_MUCH: Final = 1 << 16
"""A text that is JSON for so long is no YAML: a fault in a large dump is reported at once, without a second parser."""
_LIKE_JSON: Final = re.compile(rb"\s*[{\[]")
_MANAGERS: Final = b'"managedFields": [\n'
_SOMETHING: Final = re.compile(r"\S")
_TOO_DEEP: Final = "nested too deeply"
_MOST_DIGITS: Final = 4300
"""Python makes no number of more, nor text of a longer number. It stays text: whoever reads the field tells of it."""
_BITS: Final = 14_000
"""The same in another base."""
_MOST_OF_ALIASES: Final = 1_000_000
"""Values that all aliases of a text stand for: nine lines can stand for a milliard, which nobody ever wrote."""


def _whole(text: str) -> int | str:
    return int(text) if len(text) <= _MOST_DIGITS else text


class _Twice(Exception):
    """A key stands twice in one object: which value counts is anybody's guess."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} stands twice in one mapping")
        self.key = key


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _Twice(next(key for key, _ in pairs if counts[key] > 1))
    return value


_SPACED_KEY: Final = re.compile(rb'"[ \t\r\n]+:')
_DECODER: Final = json.JSONDecoder(parse_int=_whole, object_pairs_hook=_object)


class BadDocument(ValueError):
    """A text that is neither JSON nor YAML: what is wrong, and `place`, `:line:column` if that is known."""

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class _Loader(yaml.CSafeLoader):
    """YAML as the API reads it: a time stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIME]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(text: bytes) -> Iterator[Any]:
    """Yield the documents of a text in UTF-8: values in JSON one after the other, or documents in YAML.

    metadata.managedFields may be left out: nothing reads it, and it is more than half of a dump that shows it.

    Raises:
        BadDocument: it is neither JSON nor YAML, or uses a tag that stands for no JSON.
        UnicodeDecodeError: it is not in UTF-8.
    """
    if _LIKE_JSON.match(text):
        # Only what is left is kept: a dump is large.
        text = _without_managers(text)
        values = _json(text)
        if values is not None:
            yield from values
            return
    try:
        yield from _Builder(text.decode()).documents()
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark or error.context_mark)
        raise BadDocument(f"not YAML: {error.problem or error.context}", place=place) from None
    except yaml.YAMLError as error:
        raise BadDocument(f"not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise BadDocument(_TOO_DEEP) from None


def _json(text: bytes) -> list[Any] | None:
    """Return the values of a text, or None if it may be flow style of YAML, which begins like JSON."""
    try:
        value = from_json(text, cache_strings="all", allow_inf_nan=False)
    except ValueError:
        pass
    else:
        # A key that stands twice is lost there, and only the number of keys tells.
        if _keys_in(text) == _keys(value):
            return [value]
    values: list[Any] = []
    whole, at = text.decode(), 0
    try:
        while start := _SOMETHING.search(whole, at):
            value, at = _DECODER.raw_decode(whole, start.start())
            values.append(value)
    except _Twice as error:
        raise BadDocument(str(error), place=_place_of_key(whole, error.key)) from None
    except RecursionError:
        raise BadDocument(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        if error.pos > _MUCH:
            raise BadDocument(f"not JSON: {error.msg}", place=f":{error.lineno}:{error.colno}") from None
        return None
    return values


def _keys_in(text: bytes) -> int:
    """Return how many keys a text of JSON has, or another number where that is not quickly told, never fewer.

    Within a text, a quotation mark has a backslash before it: `":` is the end of a key.
    """
    # With two of them it ends a key that ends with a backslash.
    inner = 0 if b'\\\\":' in text else text.count(b'\\":')
    return text.count(b'":') - inner + len(_SPACED_KEY.findall(text))


def _keys(value: Any) -> int:
    """Return how many keys there are in all objects of the value."""
    number, left = 0, [value]
    for inner in left:
        if type(inner) is dict:
            number += len(inner)
            left += [each for each in inner.values() if type(each) is dict or type(each) is list]
        elif type(inner) is list:
            left += [each for each in inner if type(each) is dict or type(each) is list]
    return number


def _place_of_key(text: str, key: str) -> str:
    """Return where the key stands twice, as far as a parser of YAML can tell."""
    try:
        for _ in _Builder(text).documents():
            pass
    except BadDocument as error:
        return error.place if repr(key) in str(error) else ""
    except (yaml.YAMLError, RecursionError):
        pass
    return ""


def _without_managers(text: bytes) -> bytes:
    """Return JSON without each managedFields that stands as kubectl prints it: its lines deeper than its first one.

    No text of JSON holds a line end, so a line that begins with this key has it. Its lines stay, as empty ones.
    """
    parts: list[bytes | memoryview] = []
    view = memoryview(text)
    at, end = 0, 0
    while (start := text.find(_MANAGERS, at)) >= 0:
        at = start + len(_MANAGERS)
        line = text.rfind(b"\n", 0, start) + 1
        indent = text[line:start]
        close = b"\n" + indent + b"],\n"
        last = text.find(close, at - 1)
        if indent.strip(b" ") or last < 0:
            continue
        at = last + len(close)
        parts += [view[end:line], b"\n" * text.count(b"\n", line, at)]
        end = at
    return b"".join([*parts, view[end:]]) if parts else text


class _Builder:
    """Builds documents from the events of a parser."""

    def __init__(self, text: str) -> None:
        self._loader = _Loader(text)
        self._plain = lru_cache(_SHARED)(self._plain_scalar)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0
        """Built so far, with those that aliases stand for."""
        self._of_aliases = 0

    def documents(self) -> Iterator[Any]:
        """Yield each document of the stream."""
        take: Callable[[], Any] = self._loader.get_event
        while True:
            event = take()
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._value(take(), take)
            elif isinstance(event, yaml.StreamEndEvent):
                return

    def _value(self, event: Any, take: Callable[[], Any]) -> Any:
        kind, before = type(event), self._values
        self._values += 1
        if kind is yaml.ScalarEvent:
            value = self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            value = self._mapping(event, take)
        elif kind is yaml.SequenceStartEvent:
            _check_tag(event, _LIST)
            value = []
            while type(inner := take()) is not yaml.SequenceEndEvent:
                value.append(self._value(inner, take))
        else:
            if event.anchor not in self._anchors:
                raise BadDocument(f"found undefined alias {event.anchor!r}", place=_place(event.start_mark))
            return self._aliased(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._values - before
        return value

    def _aliased(self, event: Any) -> Any:
        value, size = self._anchors[event.anchor]
        self._values += size
        self._of_aliases += size
        if self._of_aliases > _MOST_OF_ALIASES:
            problem = f"its aliases stand for more than {_MOST_OF_ALIASES:,} values: write them out"
            raise BadDocument(problem, place=_place(event.start_mark))
        return value

    def _mapping(self, start: Any, take: Callable[[], Any]) -> dict[Any, Any]:
        _check_tag(start, _MAP)
        value: dict[Any, Any] = {}
        merged: list[Any] = []
        while type(event := take()) is not yaml.MappingEndEvent:
            is_merge = type(event) is yaml.ScalarEvent and event.value == _MERGE and event.implicit[0]
            key = self._value(event, take)
            if key == _UNREAD:
                _skip(take)
                continue
            inner = self._value(take(), take)
            if is_merge:
                merged += _merged(inner, event)
            elif isinstance(key, Hashable):
                if key in value:
                    raise BadDocument(f"the key {key!r} stands twice in one mapping", place=_place(event.start_mark))
                value[key] = inner
            else:
                raise BadDocument("a key must be text, not a list or mapping", place=_place(event.start_mark))
        for other in merged:
            value = {**other, **value}
        return value

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None and event.tag not in ("!", _TEXT):
            node = yaml.ScalarNode(event.tag, event.value)
            if event.tag not in _Loader.yaml_constructors:
                raise BadDocument(f"the tag {event.tag!r} is not known", place=_place(event.start_mark))
            try:
                return self._loader.construct_object(node)
            except ValueError as error:
                if isinstance(error, yaml.YAMLError):
                    raise
                raise BadDocument(f"no value of the tag {event.tag!r}", place=_place(event.start_mark)) from None
        return self._plain(event.value) if event.tag != _TEXT and event.implicit[0] else event.value

    def _plain_scalar(self, text: str) -> Any:
        # What a plain text stands for depends on nothing else, and the same few thousand stand everywhere.
        tag = self._loader.resolve(yaml.ScalarNode, text, _PLAIN)
        if tag == _TEXT or text == _MERGE:
            return text
        try:
            value = self._loader.construct_object(yaml.ScalarNode(tag, text))
        except ValueError:
            # More digits than Python makes a number of.
            return text
        return text if isinstance(value, int) and value.bit_length() > _BITS else value


def _skip(take: Callable[[], Any]) -> None:
    """Pass over a value."""
    depth = 0
    while True:
        event = take()
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if not depth:
            return


def _place(mark: Any) -> str:
    return "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"


def _check_tag(event: Any, expected: str) -> None:
    if event.tag not in (None, "!", expected):
        raise BadDocument(f"the tag {event.tag!r} is not known", place=_place(event.start_mark))


def _merged(value: Any, event: Any) -> list[dict[Any, Any]]:
    """Return the mappings that a merge key names, the one that decides first."""
    mappings = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in mappings):
        raise BadDocument("a merge key needs a mapping or a list of mappings", place=_place(event.start_mark))
    return mappings
