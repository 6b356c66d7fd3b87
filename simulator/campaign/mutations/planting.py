"""Faults planted in the code, to show that histories find such faults: each is a change that a person might make."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

Change = tuple[Any, str, Any]
"""A module or class, the name of what is replaced in it, and what takes its place."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One planted fault."""

    name: str
    changes: Callable[[], list[Change]]
    within: int = 10
    """Seeds among which at least one finds it."""
    first: int = 0
    """How many seeds are passed over before those: of what takes a rare history, near the one that finds it."""
    provider: str = "kwok"
    """That these histories are played with."""


@contextmanager
def planted(mutation: Mutation) -> Iterator[None]:
    """Let the code be wrong for the block."""
    with ExitStack() as stack:
        for owner, name, value in mutation.changes():
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        yield
