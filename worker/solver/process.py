"""The optimiser in one warm process of its own, so that watches, heartbeats and timers never wait for it.

Until it is warm, and whenever it fails, the greedy packer answers in its stead: a round is never without a plan.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

import structlog

from planner.packing.check import fault_of
from planner.packing.greedy.pack import is_small, pack
from planner.packing.problem import Packing, PackingProblem
from worker import parent_death
from worker.metrics import PACKING, histogram
from worker.solver.child import WARM
from worker.solver.wire import Failure, receive, send

log = structlog.stdlib.get_logger(__name__)

SOLVER: Final = "planner.packing.optimiser.solve"
DEADLINE_SECONDS: Final = 2.0
"""For one packing. The solver has a good one long before; a round should not take longer than a machine's API call."""
GRACE_SECONDS: Final = 3.0
"""Beyond the deadline: its steps between two looks at the clock are short, so by then it hangs."""
WARMS_WITHIN_SECONDS: Final = 300.0
"""Compiling takes a minute where a whole core is free, and the worker's container may have a part of one."""
FIRST_PAUSE_SECONDS: Final = 1.0
"""Before a process that ended is started anew; twice as long after each that ended without an answer."""
LONGEST_PAUSE_SECONDS: Final = 300.0
_ENDS_WITHIN_SECONDS: Final = 5.0
_ROOMS: Final = Path(__file__).parents[2]
"""The folder that holds our packages; the search path may have others of the same names."""


class PackedBy(StrEnum):
    """Who answered a problem, and why; a label of the metric."""

    SOLVER = "solver"
    SMALL = "small"
    """The greedy packer, which looks at everything where pods are few."""
    COLD = "greedy-because-cold"
    LATE = "greedy-because-late"
    FAILED = "greedy-because-failed"


class _StandIn(Exception):
    """There is no answer of the solver."""

    def __init__(self, why: PackedBy, reason: str, traceback: str | None = None) -> None:
        super().__init__(reason)
        self.why = why
        self.traceback = traceback


class SolverProcess:
    """A packer that any thread may call; problems are answered one at a time.

    Args:
        solver: dotted name of what the process imports: `worker.solver.child.Solver` says what it has.
        deadline_seconds: for one packing.
        grace_seconds: after the deadline, before the process is killed.
        first_pause_seconds: before a process that ended is started anew.
    """

    def __init__(
        self,
        solver: str = SOLVER,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._solver = solver
        self._deadline_seconds = deadline_seconds
        self._grace_seconds = grace_seconds
        self._first_pause_seconds = first_pause_seconds
        self._pause_seconds = first_pause_seconds
        self._asking = threading.Lock()
        self._closing = threading.Event()
        self._started: _Child | None = None
        self._warm: _Child | None = None
        # The kernel kills the process when the thread that started it ends: one thread starts all, and ends last.
        self._keeper = threading.Thread(target=self._keep, name="solver", daemon=True)
        self._seconds = histogram(PACKING)

    def start(self) -> None:
        """Begin to warm a process in the background."""
        self._keeper.start()

    def close(self) -> None:
        """End the process; from here on the greedy packer answers."""
        self._closing.set()
        if self._started is not None:
            self._started.kill("the worker stops")
        self._keeper.join(_ENDS_WITHIN_SECONDS)

    @property
    def is_warm(self) -> bool:
        """Whether a problem that came now would be put to the solver."""
        return self._warm is not None

    def __call__(self, problem: PackingProblem) -> Packing:
        """Return the solver's packing, or the greedy packer's; other threads run while the solver works."""
        began = time.monotonic()
        answer, packing = self._answer(problem)
        self._seconds.record(time.monotonic() - began, {"answer": answer.value})
        return packing

    def _answer(self, problem: PackingProblem) -> tuple[PackedBy, Packing]:
        if is_small(problem):
            return PackedBy.SMALL, pack(problem)
        try:
            with self._asking:
                return PackedBy.SOLVER, self._solved(problem)
        except _StandIn as error:
            if error.why is not PackedBy.COLD:
                log.warning("the greedy packer stands in for the solver", reason=str(error), exception=error.traceback)
            return error.why, pack(problem)

    def _solved(self, problem: PackingProblem) -> Packing:
        """Return the solver's answer; a process that gives none, or a wrong one, is killed.

        Raises:
            _StandIn: there is none.
        """
        child = self._warm
        if child is None:
            raise _StandIn(PackedBy.COLD, "it is not warm yet")
        try:
            answer = child.ask(problem, self._deadline_seconds, self._grace_seconds)
        except TimeoutError as error:
            late = f"no answer within {self._deadline_seconds + self._grace_seconds:g} s"
            raise self._lost(child, PackedBy.LATE, late) from error
        except (OSError, EOFError) as error:
            # Why, its exit code tells.
            raise self._lost(child, PackedBy.FAILED, "") from error
        except ValueError as error:
            raise self._lost(child, PackedBy.FAILED, str(error)) from error
        if isinstance(answer, Failure):
            # It caught the exception itself and can go on.
            raise _StandIn(PackedBy.FAILED, answer.message, answer.traceback)
        if not isinstance(answer, Packing):
            raise self._lost(child, PackedBy.FAILED, "its answer is no packing")
        fault = fault_of(problem, answer)
        if fault:
            raise self._lost(child, PackedBy.FAILED, f"its answer is wrong: {fault}")
        self._pause_seconds = self._first_pause_seconds
        return answer

    def _lost(self, child: "_Child", why: PackedBy, reason: str) -> _StandIn:
        self._warm = None
        child.kill(reason)
        return _StandIn(why, reason or "its process ended")

    def _keep(self) -> None:
        """Start a process, and another whenever it ends, until closed."""
        while not self._closing.is_set():
            try:
                reason = self._live()
            except OSError as error:
                reason = f"no process can be started: {error}"
            if self._closing.is_set():
                return
            log.warning("the solver is started anew", reason=reason, in_seconds=self._pause_seconds)
            self._closing.wait(self._pause_seconds)
            self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)

    def _live(self) -> str:
        """Run one process from its start to its end and return why it ended.

        Raises:
            OSError: it could not be started.
        """
        child = self._started = _Child.start(self._solver)
        try:
            if self._closing.is_set():
                # `close` came before this process was in its place, and could not kill it.
                child.kill("the worker stops")
            began = time.monotonic()
            if child.warms():
                log.info("the solver is warm", seconds=round(time.monotonic() - began, 1))
                self._warm = child
            child.process.wait()
        finally:
            self._warm = None
            # A thread that asks learns from the socket that nothing will come; then it is nobody's.
            with self._asking:
                child.socket.close()
        return child.reason or _how_ended(child.process.returncode)


@dataclass(slots=True)
class _Child:
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

    def warms(self) -> bool:
        """Return whether it became warm; if not, it is killed."""
        try:
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

    def ask(self, problem: PackingProblem, deadline_seconds: float, grace_seconds: float) -> object:
        """Return the answer of the process.

        Raises:
            TimeoutError: it is far over its deadline.
            EOFError: it has ended.
            OSError: it has ended.
            ValueError: the problem is too large, or the answer is none.
        """
        within = deadline_seconds + grace_seconds
        self.socket.settimeout(within)
        send(self.socket, (problem, deadline_seconds))
        return receive(self.socket, within)

    def kill(self, reason: str) -> None:
        """End it at once: there is nothing in it to save."""
        self.reason = self.reason or reason
        self.process.kill()


def _search_path() -> str:
    """Return PYTHONPATH with our packages first."""
    return os.pathsep.join(filter(None, (str(_ROOMS), os.environ.get("PYTHONPATH"))))


def _how_ended(code: int) -> str:
    if code >= 0:
        return f"its process ended with code {code}"
    return f"its process was killed by {signal.Signals(-code).name}"
