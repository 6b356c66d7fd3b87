"""A terminal for a program of another process: what it prints, and what a person sees of that in the end."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final, Self

WIDTH: Final = 200
_SEQUENCE: Final = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])|\x1b\[[\d;]*m|(\r)|(\n)|([^\x1b\r\n]+)")


class Terminal:
    """A program on a terminal of its own.

    Args:
        command: the program and its arguments.
        environment: of it.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        size = {"COLUMNS": str(WIDTH), "LINES": "50", "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            command, env={**environment, **size}, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
        os.close(self._ours)

    def read_until(self, text: str, seconds: float) -> None:
        """Read until the program has printed the text or, if there is none, has ended."""
        deadline = time.monotonic() + seconds
        while not text or text not in self.raw:
            assert time.monotonic() < deadline, self.raw[-3000:]
            if not select.select([self._ours], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:
                # Linux tells so that nobody has the other end any more.
                data = b""
            if not data:
                assert not text, self.raw[-3000:]
                return
            self.raw += data.decode(errors="replace")


def seen(raw: str) -> tuple[list[str], bool]:
    """Return the lines that stand on a terminal after all that was printed, and whether its cursor can be seen.

    Knows what rich writes: colours, up (A), erase in a line (K), the cursor shown and hidden (h, l).
    """
    lines, row, column, is_shown = [""], 0, 0, True
    for private, number, what, back, feed, text in _SEQUENCE.findall(raw):
        if private and number == "25":
            is_shown = what == "h"
        elif what == "A":
            row = max(0, row - int(number or 1))
        elif what == "K":
            lines[row] = "" if number == "2" else lines[row][:column]
        elif back:
            column = 0
        elif feed:
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif text:
            lines[row] = lines[row].ljust(column)[:column] + text + lines[row][column + len(text) :]
            column += len(text)
    return [line.rstrip() for line in lines], is_shown
