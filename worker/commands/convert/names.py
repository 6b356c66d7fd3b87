"""Names that pools and classes may have, made of names that peers' groups have."""

import re
from collections.abc import Callable
from typing import Final

from api.v1alpha1.node_pool import CLASS_NAME, POOL_NAME
from worker.commands.convert.fields import BadSetting, Fields, quoted

_OTHER: Final = re.compile("[^a-z0-9-]+")


class NamesInUse:
    """Names of one kind, each given once."""

    def __init__(self, longest: int, otherwise: str) -> None:
        """Begin without any.

        Args:
            longest: characters of a name.
            otherwise: the name of what has no letter or digit in its own.
        """
        self._longest: Final = longest
        self._otherwise: Final = otherwise
        self._given: Final[set[str]] = set()
        self._wanted: Final[set[str]] = set()

    def of_peer(self, fields: Fields, part: str) -> str:
        """Return a valid name for what a peer's object has as its own there.

        Raises:
            BadSetting: it has none, or an object before it has the same.
        """
        wanted = fields.text(part, is_required=True) or ""
        key = fields.key_of(part)
        if wanted in self._wanted:
            raise BadSetting(key, f"{quoted(wanted)} stands twice")
        self._wanted.add(wanted)
        return self.take(wanted, lambda reason: fields.remarks.differs(key, reason))

    def take(self, wanted: str, tell: Callable[[str], None]) -> str:
        """Return a valid name that nothing else has; `tell` is called with the reason where it is another one."""
        valid = self._valid(wanted)
        name, number = valid, 1
        while name in self._given:
            number += 1
            name = f"{valid[: self._longest - len(str(number)) - 1].rstrip('-')}-{number}"
        self._given.add(name)
        if name != valid:
            tell(f"named {name} here: another object has the name {valid} already")
        elif name != wanted:
            tell(f"named {name} here: a name has lower-case letters, digits and -, at most {self._longest}")
        return name

    def _valid(self, wanted: str) -> str:
        return _OTHER.sub("-", wanted.lower()).strip("-")[: self._longest].strip("-") or self._otherwise


def pool_names() -> NamesInUse:
    """Return the names of pools, none yet."""
    return NamesInUse(POOL_NAME.longest, "pool")


def class_names() -> NamesInUse:
    """Return the names of classes, none yet."""
    return NamesInUse(CLASS_NAME.longest, "default")
