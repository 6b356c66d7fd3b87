"""How a command ends when it cannot do what was asked: one clear line and an exit code."""

from typing import Final

FAILED: Final = 1
"""Refused, or failed."""
USAGE_ERROR: Final = 2


class CommandError(Exception):
    """Shown as one line without a traceback."""

    def __init__(self, message: str, code: int = FAILED, *, at_once: bool = False) -> None:
        """Keep how the process ends.

        Args:
            message: one line.
            code: exit code.
            at_once: as `AtOnce` does.
        """
        super().__init__(message)
        self.code = code
        self.at_once = at_once


class AtOnce(int):
    """Exit code of a process that ends without Python's own end, because threads of Temporal's client still run.

    Measured: while they run, Python's end waits for ever about once in sixty times, and sometimes a thread panics.
    """

    __slots__ = ()
