"""The solver's process as the worker sees it: started, warmed, asked over its socket, and killed."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import structlog

from planner.packing.problem import PackingProblem
from worker import parent_death
from worker.solver.allowance import Allowance
from worker.solver.child import COMPILING, WARM
from worker.solver.wire import Failure, receive, send

log = structlog.stdlib.get_logger(__name__)

WARMS_WITHIN_SECONDS: Final = 300.0
"""Compiling takes a minute where a whole core is free, and the worker's container may have a part of one."""
_ROOMS: Final = Path(__file__).parents[2]
"""The folder that holds our packages; the search path may have others of the same names."""


@dataclass(slots=True)
class StartedProcess:
    """A process and the worker's end of the socket to it."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    reason: str = ""
    """Why the worker killed it, if it did."""

    @classmethod
    def start(cls, solver: str) -> Self:
        """Start a process that dies with this thread.

        Raises:
            OSError: there is none to be had.
        """
        worker_end, child_end = socket.socketpair()
        program = [sys.executable, "-P", "-m", "worker.solver.child", str(child_end.fileno()), solver]
        launcher = [sys.executable, "-IS", str(Path(parent_death.__file__)), str(os.getpid())]
        # Only the child may hold its end: the worker learns from the closed socket that the process has ended.
        with child_end:
            try:
                process = subprocess.Popen(  # noqa: S603 - this very Python, and a name that no user gives
                    [*launcher, *program],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[child_end.fileno()],
                    env={**os.environ, "PYTHONPATH": _search_path()},
                    # Ctrl-C at the terminal goes to the worker alone, which ends this process itself.
                    start_new_session=True,
                )
            except BaseException:
                worker_end.close()
                raise
        return cls(process, worker_end)

    def warms(self, compiles: Callable[[], None]) -> bool:
        """Return whether it became warm; if not, it is killed. Call `compiles` if that will take minutes."""
        try:
            answer = receive(self.socket, WARMS_WITHIN_SECONDS)
            if answer == COMPILING:
                compiles()
                answer = receive(self.socket, WARMS_WITHIN_SECONDS)
        except TimeoutError:
            answer = f"not warm within {WARMS_WITHIN_SECONDS:g} s"
        except (OSError, EOFError, ValueError):
            # It ended, and its exit code tells more.
            return False
        if isinstance(answer, Failure):
            log.warning("the solver cannot be warmed", reason=answer.message, exception=answer.traceback)
            self.kill(answer.message)
        elif answer != WARM:
            self.kill(str(answer))
        return answer == WARM

    def ask(self, problem: PackingProblem, allowance: Allowance, grace_seconds: float) -> object:
        """Return the answer of the process.

        Raises:
            TimeoutError: it took all of its wall time and the grace.
            EOFError: it has ended.
            OSError: it has ended.
            ValueError: the problem is too large, or the answer is none.
        """
        within = allowance.wall_seconds + grace_seconds
        self.socket.settimeout(within)
        send(self.socket, (problem, allowance))
        return receive(self.socket, within)

    def kill(self, reason: str) -> None:
        """End it at once: there is nothing in it to save."""
        self.reason = self.reason or reason
        self.process.kill()


def _search_path() -> str:
    """Return PYTHONPATH with our packages first."""
    return os.pathsep.join(filter(None, (str(_ROOMS), os.environ.get("PYTHONPATH"))))
