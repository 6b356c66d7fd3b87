"""Reads the files of `growth convert`: objects of other autoscalers, bounded in size, one after the other."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from worker.commands.plan.files import STDIN
from worker.commands.plan.syntax import BadDocument, documents
from worker.errors import USAGE_ERROR, CommandError
from worker.printing import shown_line

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a file. Settings of the largest fleets are a hundredth of it; a dump of a cluster has other files."""
_DEEPEST: Final = 8
"""Lists in lists."""


@dataclass(frozen=True, slots=True)
class PeerDocument:
    """A document of a file, or an object of a list in it."""

    file: str
    where: str
    """The document by its number, and the item by its own."""
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        """Kind of the object, empty if it has none."""
        kind = self.value.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def group(self) -> str:
        """Group and version of the object, empty if it has none."""
        version = self.value.get("apiVersion")
        return version if isinstance(version, str) else ""

    @property
    def name(self) -> str:
        """Name of the object, empty if it has none."""
        metadata = self.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def shown(self) -> str:
        """How a message names it within its file."""
        return f"{self.kind} {self.name}" if self.kind and self.name else self.where

    def bad(self, reason: str) -> CommandError:
        """Return the error of this document: one line with the file and the object."""
        # Keys and names of others may hold line ends.
        return CommandError(shown_line(f"{self.file}: {self.shown}: {reason}"), USAGE_ERROR)


def read_documents(files: Iterable[str]) -> list[PeerDocument]:
    """Return all documents of the files, each object of a `List` on its own.

    Raises:
        CommandError: a file cannot be read, is too large, holds nothing, or something that is no object.
    """
    return [document for file in files for document in _of_file(file)]


def _of_file(file: str) -> list[PeerDocument]:
    shown = "standard input" if file == STDIN else file
    try:
        values = list(documents(_bytes(file, shown)))
    except OSError as error:
        raise _bad(f"{shown}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _bad(f"{shown}: not a text in UTF-8") from None
    except BadDocument as error:
        raise _bad(f"{shown}{error.place}: {error}") from None
    read = [
        document
        for number, value in enumerate(values, start=1)
        for document in _objects(shown, f"document {number}", value, 0)
    ]
    if not read:
        raise _bad(f"{shown}: holds no object")
    return read


def _bytes(file: str, shown: str) -> bytes:
    if file == STDIN:
        text = sys.stdin.buffer.read(LARGEST + 1)
    else:
        with Path(file).open("rb") as stream:
            text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise _bad(f"{shown}: is larger than {LARGEST // 1024 // 1024} MiB: give the autoscaler's own objects alone")
    return text


def _objects(file: str, where: str, value: Any, depth: int) -> Iterator[PeerDocument]:
    if value is None:
        return
    if depth > _DEEPEST:
        raise _bad(f"{file}: {where}: nested too deeply")
    if not isinstance(value, dict):
        raise _bad(f"{file}: {where}: is no mapping")
    items = value.get("items")
    if str(value.get("kind")).endswith("List") and isinstance(items, list):
        for number, item in enumerate(items, start=1):
            yield from _objects(file, f"{where}, item {number}", item, depth + 1)
    else:
        yield PeerDocument(file, where, value)


def _bad(message: str) -> CommandError:
    return CommandError(message, USAGE_ERROR)
