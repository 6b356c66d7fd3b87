"""The file of the embedded Temporal server: for this user alone, and set aside where it is broken.

It has nothing in it to back up: objects in the cluster tell where each lifecycle goes on.
"""

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import structlog

log = structlog.stdlib.get_logger(__name__)

CHECKED_WITHIN: Final = 15.0
"""Seconds; a file of a gigabyte takes a few. One that takes longer is taken for whole."""
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BESIDE: Final = ("", "-wal", "-shm")
"""Endings of the files that make a database."""
_FOR_OWNER: Final = 0o600
_SAYS_SO: Final = ("no such table", "no such column", "malformed", "not a database")
"""Words of a server that cannot use its file; tables are missing where it was killed as it made them."""
_INSTRUCTIONS: Final = 10_000
"""Of SQLite's machine, between two looks at the clock."""


def prepare(database: Path) -> Path | None:
    """Keep the files of the database from other users, and set a broken one aside; the server begins a new one.

    Returns:
        The broken file under its new name, which replaces one that was set aside before; None if nothing is broken.

    Raises:
        OSError: it can be neither read nor moved.
    """
    for ending in _BESIDE:
        part = _beside(database, ending)
        # One that another user made stays as that user made it.
        with suppress(PermissionError, FileNotFoundError):
            part.chmod(_FOR_OWNER)
    trouble = _trouble(database) if database.exists() else ""
    return set_aside(database, trouble) if trouble else None


def set_aside(database: Path, trouble: str) -> Path:
    """Rename the files of the database, so that a new one is begun, and return the new name; the last one is kept.

    Raises:
        OSError: it cannot be moved.
    """
    aside = database.with_name(f"{database.name}.broken")
    for ending in _BESIDE:
        part = _beside(database, ending)
        if part.exists():
            part.replace(_beside(aside, ending))
    log.error(
        "the data file of the embedded Temporal server is broken: a new one is begun, and workflows go on from their "
        "objects; histories of ended ones are lost",
        error=trouble,
        broken_file=str(aside),
    )
    return aside


def is_to_blame(words: str) -> bool:
    """Return whether what a server said as it ended speaks of a broken file."""
    return any(said in words for said in _SAYS_SO)


def _trouble(database: Path) -> str:
    """Return what is wrong with the file, an empty text if nothing is, as far as can be seen in time."""
    ends_at = time.monotonic() + CHECKED_WITHIN
    try:
        with closing(sqlite3.connect(database, timeout=1.0)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > ends_at, _INSTRUCTIONS)
            (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error) if error.sqlite_errorcode & 0xFF in _BROKEN else ""
    return "" if finding == "ok" else str(finding)


def _beside(database: Path, ending: str) -> Path:
    return database.with_name(f"{database.name}{ending}")
