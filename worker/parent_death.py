"""Becomes another program that the kernel kills when this worker dies, however it dies.

Run as a script, before anything of the project is imported: `child.py <pid of the worker> <program> <argument>…`.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""Source: prctl(2), Linux. Kept over exec; the signal comes when the thread that forked us ends."""


def main() -> None:
    """Ask for the signal and become the program."""
    worker, program, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        # SIGKILL, for a server that is stuck in its own shutdown would keep the file; SQLite's log survives it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(worker):
        # The worker died before the kernel was asked: nobody would ever stop the program.
        sys.exit(1)
    os.execv(program, [program, *arguments])  # noqa: S606 - the worker's own program, no shell


if __name__ == "__main__":
    main()
