"""The way of `--set` through plain data: from field to field, and to entries of lists by name, key or number."""

from collections.abc import Callable, Iterator
from typing import Any, Final

ABSENT: Final = object()
"""Stands for what is not there."""
_ALL: Final = "*"
_NAMES: Final = ("name", "key")
"""What an entry of a list goes by, if it has one of these."""


class NowhereError(ValueError):
    """A path leads nowhere; the message tells what is there."""


def changed_at(value: Any, steps: tuple[str, ...], put: Callable[[Any, str], Any], place: str) -> Any:
    """Return `value` with what lies at the end of the steps replaced, ABSENT if nothing is left of it.

    Fields on the way that are not there are made. What lies on the way is copied and never changed in place: an anchor
    of YAML may stand for the same part elsewhere.

    Args:
        value: plain data.
        steps: fields, names or numbers of entries, and * for all entries.
        put: returns what shall stand at the end instead of what stands there, which is ABSENT if nothing does.
        place: where `value` stands, as a path; put learns where the end is.

    Raises:
        NowhereError: there is no such entry of a list, or nothing can be below a value.
    """
    if not steps:
        return put(value, place)
    step, below = steps[0], steps[1:]
    if isinstance(value, list):
        made = dict(_changed_entries(value, steps, put, place))
        return [entry for entry in (made.get(i, entry) for i, entry in enumerate(value)) if entry is not ABSENT]
    if value is None or value is ABSENT:
        if step == _ALL:
            raise NowhereError(f"{place} is not there")
        value = {}
    if not isinstance(value, dict):
        raise NowhereError(f"{place} is {value}, and nothing is below it")
    inner = changed_at(value.get(step, ABSENT), below, put, _below(place, step))
    return {field: part for field, part in {**value, step: inner}.items() if part is not ABSENT}


def shared_names(value: Any, steps: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield each name among the steps that more than one entry of a list goes by, and how many do."""
    if not steps:
        return
    if isinstance(value, dict):
        yield from shared_names(value.get(steps[0]), steps[1:])
    elif isinstance(value, list):
        indexes = _named(value, steps[0])
        if len(indexes) > 1 and steps[0] != _ALL:
            yield steps[0], len(indexes)
        for i in indexes:
            yield from shared_names(value[i], steps[1:])


def _changed_entries(
    entries: list[Any], steps: tuple[str, ...], put: Callable[[Any, str], Any], place: str
) -> list[tuple[int, Any]]:
    made: list[tuple[int, Any]] = []
    missed: list[NowhereError] = []
    for i in _named(entries, steps[0]):
        try:
            made.append((i, changed_at(entries[i], steps[1:], put, _below(place, _name(entries[i]) or str(i)))))
        except NowhereError as error:
            # Of all entries, some may lack what is looked for.
            if steps[0] != _ALL:
                raise
            missed.append(error)
    if made:
        return made
    raise missed[0] if missed else NowhereError(_what_is_there(entries, steps[0], place))


def _named(entries: list[Any], step: str) -> list[int]:
    """Return where the entries stand that go by a name, best in the same case of letters, or else by a number."""
    if step == _ALL:
        return list(range(len(entries)))
    called = [_name(entry) for entry in entries]
    indexes = [i for i, name in enumerate(called) if name == step]
    indexes = indexes or [i for i, name in enumerate(called) if name is not None and name.lower() == step.lower()]
    return indexes or [i for i in range(len(entries)) if str(i) == step]


def _name(entry: Any) -> str | None:
    values = (entry.get(field) for field in _NAMES) if isinstance(entry, dict) else ()
    return next((name for name in values if isinstance(name, str)), None)


def _what_is_there(entries: list[Any], step: str, place: str) -> str:
    if not entries:
        return f"{place} has no entries"
    called = [name for name in map(_name, entries) if name is not None]
    if len(called) < len(entries):
        return f"{place} has no {step}: its entries go by number, from 0 to {len(entries) - 1}"
    field = next(field for field in _NAMES if field in entries[0])
    return f"{place} has no {step}: there are {', '.join(called)}; to add one: --set '{place}+={{{field}: NAME, ...}}'"


def _below(place: str, step: str) -> str:
    return f"{place}[{step}]" if "." in step else f"{place}.{step}"
