"""Solvers of many characters, named by tests and imported in a solver's process."""

import gc
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from planner.packing.fallback.pack import pack
from planner.packing.problem import PackedNode, Packing

PROVEN = 7
"""What a good solver here claims to have proven: the fallback never does, so it tells who answered."""
FOLDER = "SOLVER_TEST_FOLDER"
"""Variable with a folder where a solver leaves notes for its test."""
LOADED = "loaded"
"""The note that a test leaves for a solver."""


def note(name):
    """Leave a note, and return whether there was one before."""
    path = Path(os.environ[FOLDER]) / name
    was_there = path.exists()
    path.write_text(str(os.getpid()))
    return was_there


class Good:
    def warm(self, compiles):
        pass

    def solve(self, problem, *, is_over):
        assert not is_over()
        return replace(pack(problem), proven=PROVEN)


class Frozen(Good):
    def solve(self, problem, *, is_over):
        return replace(pack(problem), proven=gc.get_freeze_count())


class OnceBad(Good):
    """Fails at its first problem; a process that is started after that is good."""

    def solve(self, problem, *, is_over):
        return super().solve(problem, is_over=is_over) if note("bad") else self.fail(problem)

    def fail(self, problem):
        raise NotImplementedError


class Ends(OnceBad):
    def fail(self, problem):
        os._exit(3)


class Crashes(OnceBad):
    def fail(self, problem):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(OnceBad):
    def fail(self, problem):
        while True:
            time.sleep(60)


class Raises(OnceBad):
    def fail(self, problem):
        return 1 / (problem.groups[0].count - problem.groups[0].count)


class Overfills(OnceBad):
    def fail(self, problem):
        return Packing((PackedNode(0, {i: group.count for i, group in enumerate(problem.groups)}),))


class Babbles(OnceBad):
    def fail(self, problem):
        return "a packing"


class Unlike(OnceBad):
    """Answers with what the other side cannot read."""

    def fail(self, problem):
        return Unreadable()


class Unreadable:
    def __reduce__(self):
        return int, ("no number",)


class TakesItsTime(Good):
    """Works as long as it may."""

    def solve(self, problem, *, is_over):
        began = time.monotonic()
        while not is_over():
            time.sleep(0.01)
        return replace(pack(problem), proven=int((time.monotonic() - began) * 1000))


class Burns(Good):
    """Computes as long as it may, and claims to have proven the milliseconds of processor time that it took."""

    def solve(self, problem, *, is_over):
        began = time.process_time()
        while not is_over():
            pass
        return replace(pack(problem), proven=int((time.process_time() - began) * 1000))


class WarmsLate(Good):
    """Is loaded for a second."""

    def warm(self, compiles):
        time.sleep(1)


class WarmsWhenLet(Good):
    """Is loaded until its test leaves a note."""

    def warm(self, compiles):
        while not (Path(os.environ[FOLDER]) / LOADED).exists():
            time.sleep(0.01)


class Compiles(WarmsWhenLet):
    """Says that it compiles before it is loaded."""

    def warm(self, compiles):
        compiles(True)
        super().warm(compiles)


class OneAtATime(Good):
    def solve(self, problem, *, is_over):
        was_there = note("working")
        time.sleep(0.1)
        (Path(os.environ[FOLDER]) / "working").unlink()
        return replace(pack(problem), proven=0 if was_there else PROVEN)


class NeverWarm(Good):
    def warm(self, compiles):
        note("warming")
        while True:
            time.sleep(60)


class CannotWarm(Good):
    def warm(self, compiles):
        note(f"try-{time.time_ns()}")
        raise ImportError("no kernels here")


good, frozen, ends, crashes, hangs = Good(), Frozen(), Ends(), Crashes(), Hangs()
raises, overfills, babbles, unlike = Raises(), Overfills(), Babbles(), Unlike()
takes_its_time, one_at_a_time, never_warm, cannot_warm = TakesItsTime(), OneAtATime(), NeverWarm(), CannotWarm()
burns, warms_late, warms_when_let, compiles = Burns(), WarmsLate(), WarmsWhenLet(), Compiles()
