"""A page that is written from the code, and the check that it is fresh."""

import sys
from collections.abc import Sequence
from pathlib import Path


def write_or_check(arguments: Sequence[str], file: Path, wanted: str, *, source: str) -> int:
    """Write the page, or with `--check` among the arguments compare it; return the exit code.

    Args:
        arguments: of the command.
        file: the page.
        wanted: its text.
        source: what the page is made from, in the sentence of a check that fails.
    """
    is_fresh = file.is_file() and file.read_text() == wanted
    if "--check" in arguments:
        if not is_fresh:
            sys.stderr.write(f"{file} is not what {source}: run make drawings\n")
        return 0 if is_fresh else 1
    if not is_fresh:
        file.write_text(wanted)
    return 0
