"""Child processes that write to a log file and never outlive the test run."""

import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_TAIL_LINES = 40
_PORTS = range(20_000, 32_000)
"""Below those that Linux gives to connections: only who looks for one likewise can take it before it is used."""
_CHANCE = random.SystemRandom()
"""No seed: several test runs share a machine."""
_given: set[int] = set()


class ProcessDied(Exception):
    """A process ended by itself; the message ends with the tail of its log."""


class Process:
    """A running program.

    It has a session of its own, so that Ctrl-C in a terminal reaches the test run alone, which then stops
    it in order; and where Linux offers it, the kernel kills it when the test run itself is killed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        folder: Path,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        parent = os.getpid()

        def die_with_parent() -> None:
            if _LIBC is not None:
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                # Nothing of the user's configuration may change what is tested, nor caches be left behind.
                env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it makes two system calls and takes no lock
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def check(self) -> None:
        """Raise `ProcessDied` with the tail of the log unless the process runs."""
        if self._child.poll() is not None:
            raise ProcessDied(f"{self.name} ended with {self._child.returncode}:\n{self.tail()}")

    def wait(self, seconds: float) -> int:
        """Return with what code it has ended by itself, within so long."""
        return self._child.wait(seconds)

    def tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])

    def kill(self) -> None:
        """End it at once and wait until it has ended: its data is thrown away, so there is nothing to finish."""
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()


def free_ports(count: int) -> list[int]:
    """Return loopback ports that were free a moment ago, and that this function has not returned before."""
    found: list[int] = []
    while len(found) < count:
        port = _CHANCE.choice(_PORTS)
        if port not in _given and _is_free(port):
            _given.add(port)
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as made:
        try:
            made.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
