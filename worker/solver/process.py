"""The optimiser in one warm process of its own, so that watches, heartbeats and timers never wait for it.

Until it is warm, and whenever it fails, the fallback answers in its stead: a round is never without a plan.
"""

import asyncio
import signal
import threading
import time
from enum import StrEnum
from typing import Final

import structlog

from planner.packing.check import fault_of
from planner.packing.fallback.pack import pack
from planner.packing.fallback.quick import is_proven, quick_answer
from planner.packing.problem import Packer, Packing, PackingProblem
from worker.metric import histogram
from worker.metrics import PACKING
from worker.solver.allowance import Allowance, RoundTime
from worker.solver.started import StartedProcess
from worker.solver.wire import Failure

log = structlog.stdlib.get_logger(__name__)

SOLVER: Final = "worker.solver.optimiser"
GRACE_SECONDS: Final = 3.0
"""Beyond the wall time: its steps between two looks at the clock are short, so by then it hangs."""
STARTS_WITHIN_SECONDS: Final = 10.0
"""After the worker's start. Loading takes two seconds of a whole core, and the container may have a part of one."""
FIRST_PAUSE_SECONDS: Final = 1.0
"""Before a process that ended is started anew; twice as long after each that ended without an answer."""
LONGEST_PAUSE_SECONDS: Final = 300.0
_ENDS_WITHIN_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.05
"""Between two looks at whether it is warm, while a round waits for that."""


_LOADING: Final = "it is being loaded"
_COMPILING: Final = "its kernels are being compiled, which takes a minute or two"


class PackedBy(StrEnum):
    """Who answered a problem, and why; a label of the metric."""

    SOLVER = "solver"
    SMALL = "small"
    """The fallback, which has proven its answer for a few pods."""
    COLD = "fallback-because-cold"
    LATE = "fallback-because-late"
    FAILED = "fallback-because-failed"


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
        allowance: of the packings of a round.
        grace_seconds: after the wall time, before the process is killed.
        first_pause_seconds: before a process that ended is started anew.
        starts_within_seconds: so long after `start`, rounds wait for the first process to become warm.
    """

    def __init__(
        self,
        solver: str = SOLVER,
        *,
        allowance: Allowance = Allowance(),  # noqa: B008 - frozen
        grace_seconds: float = GRACE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
        starts_within_seconds: float = STARTS_WITHIN_SECONDS,
    ) -> None:
        self._solver = solver
        self._allowance = allowance
        self._grace_seconds = grace_seconds
        self._first_pause_seconds = first_pause_seconds
        self._pause_seconds = first_pause_seconds
        self._starts_within_seconds = starts_within_seconds
        self._start_ends_at = 0.0
        self._why_cold = _LOADING
        self._is_cold_told = False
        self._asking = threading.Lock()
        self._closing = threading.Event()
        self._started: StartedProcess | None = None
        self._warm: StartedProcess | None = None
        # The kernel kills the process when the thread that started it ends: one thread starts all, and ends last.
        self._keeper = threading.Thread(target=self._keep, name="solver", daemon=True)
        self._seconds = histogram(PACKING)

    def start(self) -> None:
        """Begin to warm a process in the background."""
        self._start_ends_at = time.monotonic() + self._starts_within_seconds
        self._keeper.start()

    def close(self) -> None:
        """End the process; from here on the fallback answers."""
        self._closing.set()
        self._start_ends_at = 0.0
        if self._started is not None:
            self._started.kill("the worker stops")
        self._keeper.join(_ENDS_WITHIN_SECONDS)

    @property
    def is_warm(self) -> bool:
        """Whether a problem that came now would be put to the solver."""
        return self._warm is not None

    @property
    def is_starting(self) -> bool:
        """Whether the first process is being loaded, which takes seconds; it is not worth a wait when it has failed."""
        return self._warm is None and time.monotonic() < self._start_ends_at

    async def until_started(self) -> None:
        """Wait until the first process is warm, fails or begins to compile; never longer than a start may take."""
        while self.is_starting:  # noqa: ASYNC110 - another thread sees what becomes of the process
            await asyncio.sleep(_LOOK_SECONDS)

    def for_round(self) -> Packer:
        """Return the packer of one round: its packings share the wall time of an allowance."""
        round_time = RoundTime(self._allowance)

        def packed(problem: PackingProblem) -> Packing:
            with round_time.taken() as allowance:
                return self._packed(problem, allowance)

        return packed

    def __call__(self, problem: PackingProblem) -> Packing:
        """Return the answer to the one problem of a round."""
        return self._packed(problem, self._allowance)

    def _packed(self, problem: PackingProblem, allowance: Allowance) -> Packing:
        """Return the solver's packing, or the fallback's; other threads run while the solver works."""
        began = time.monotonic()
        answer, packing = self._answer(problem, allowance)
        self._seconds.record(time.monotonic() - began, {"answer": answer.value})
        return packing

    def _answer(self, problem: PackingProblem, allowance: Allowance) -> tuple[PackedBy, Packing]:
        quick = quick_answer(problem)
        if quick is not None and is_proven(problem, quick):
            return PackedBy.SMALL, quick
        try:
            with self._asking:
                return PackedBy.SOLVER, self._solved(problem, allowance)
        except _StandIn as error:
            self._tell(error)
            return error.why, quick or pack(problem)

    def _tell(self, error: _StandIn) -> None:
        """Log why the fallback stands in; while the solver becomes warm, once."""
        if error.why is not PackedBy.COLD:
            log.warning("the fallback stands in for the solver", reason=str(error), exception=error.traceback)
        elif not self._is_cold_told:
            self._is_cold_told = True
            log.info("the fallback stands in until the solver is warm: plans may cost more", reason=str(error))

    def _solved(self, problem: PackingProblem, allowance: Allowance) -> Packing:
        """Return the solver's answer; a process that gives none, or a wrong one, is killed.

        Raises:
            _StandIn: there is none.
        """
        child = self._warm
        if child is None:
            raise _StandIn(PackedBy.COLD, self._why_cold)
        try:
            answer = child.ask(problem, allowance, self._grace_seconds)
        except TimeoutError as error:
            late = f"no answer within {allowance.wall_seconds + self._grace_seconds:.3g} s"
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

    def _lost(self, child: StartedProcess, why: PackedBy, reason: str) -> _StandIn:
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
            self._start_ends_at = 0.0
            if self._closing.is_set():
                return
            log.warning("the solver is started anew", reason=reason, in_seconds=self._pause_seconds)
            self._closing.wait(self._pause_seconds)
            self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)

    def _compiles(self) -> None:
        self._why_cold = _COMPILING
        self._start_ends_at = 0.0

    def _live(self) -> str:
        """Run one process from its start to its end and return why it ended.

        Raises:
            OSError: it could not be started.
        """
        child = self._started = StartedProcess.start(self._solver)
        try:
            if self._closing.is_set():
                # `close` came before this process was in its place, and could not kill it.
                child.kill("the worker stops")
            began = time.monotonic()
            self._why_cold, self._is_cold_told = _LOADING, False
            if child.warms(self._compiles):
                log.info("the solver is warm", seconds=round(time.monotonic() - began, 1))
                self._warm = child
            child.process.wait()
        finally:
            self._warm = None
            # A thread that asks learns from the socket that nothing will come; then it is nobody's.
            with self._asking:
                child.socket.close()
        return child.reason or _how_ended(child.process.returncode)


def _how_ended(code: int) -> str:
    if code >= 0:
        return f"its process ended with code {code}"
    return f"its process was killed by {signal.Signals(-code).name}"
