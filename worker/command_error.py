"""How a command ends when it cannot do what was asked: one clear line and an exit code."""

from typing import Final

FAILED: Final = 1
"""Refused, or failed."""
USAGE_ERROR: Final = 2


class CommandError(Exception):
    """Shown as one line without a traceback."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        """Keep the exit code of the process."""
        super().__init__(message)
        self.code = code
