"""The kinds of node class that this installation serves, each registered by an entry point."""

import logging
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from activities.ports.cluster import Resource
from activities.ports.provider import Provider
from activities.ports.provider_kind import ProviderKind, Surroundings
from activities.providers.built_in import BUILT_IN, ENTRY_POINTS

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def provider_kinds() -> tuple[ProviderKind[Any], ...]:
    """Return the kinds that can be served: the built-in ones, then those of other packages by their entry point's name.

    A package whose kind cannot be loaded is logged and stops no other.
    """
    return served(declared(entry_points(group=ENTRY_POINTS)))


def declared(entries: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Return the entry points to load, the built-in ones first, each once, whether metadata names them or not."""
    built_in = {one.value for one in BUILT_IN}
    others = {(one.name, one.value): one for one in entries if one.value not in built_in}
    return [*BUILT_IN, *(others[key] for key in sorted(others))]


def served(entries: Iterable[EntryPoint]) -> tuple[ProviderKind[Any], ...]:
    """Return the kinds that the entry points register; of two with the same name, the first."""
    kinds: dict[str, ProviderKind[Any]] = {}
    for entry in entries:
        try:
            kind = entry.load()
        except Exception as error:
            # Whatever another package raises, the rest works.
            if entry in BUILT_IN:
                raise
            log.warning("provider %s (%s) cannot be loaded: %s", entry.name, entry.value, error)
            continue
        if not isinstance(kind, ProviderKind):
            log.warning("provider %s (%s) is left out: it is no ProviderKind", entry.name, entry.value)
        elif kind.kind in kinds:
            log.warning("provider %s (%s) is left out: another one serves %s", entry.name, entry.value, kind.kind)
        else:
            kinds[kind.kind] = kind
    return tuple(kinds.values())


def connected(kinds: Iterable[ProviderKind[Any]], surroundings: Callable[[str], Surroundings]) -> dict[str, Provider]:
    """Return the providers by kind of node class; `surroundings` returns what the provider of a kind may reach.

    Another package's provider that cannot be connected is logged and left out: pools of its kind are told that no
    provider serves it, and all others go on.
    """
    providers: dict[str, Provider] = {}
    built_in = {entry.value.partition(":")[0] for entry in BUILT_IN}
    for kind in kinds:
        try:
            providers[kind.kind] = kind.connect(surroundings(kind.kind))
        except Exception as error:
            if kind.connect.__module__ in built_in:
                raise
            log.warning("the provider of %s cannot be connected and is left out: %s", kind.kind, error)
    return providers


def node_classes() -> tuple[Resource, ...]:
    """Return the resources of node classes of all kinds, in the order in which they are shown."""
    return tuple(kind.node_classes for kind in provider_kinds())
