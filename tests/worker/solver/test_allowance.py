"""What packings may take: processor time of the whole process each, wall time together."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from activities.round.fence import HELD_FOR, WRITES_WITHIN
from planner.packing import arrange
from tests.planner.catalogue import instance
from tests.worker.running_solver import problem, running, until
from worker.solver.allowance import Allowance, RoundTime
from worker.solver.process import GRACE_SECONDS, SolverProcess
from worker.solver.started import WARMS_WITHIN_SECONDS

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="no process can be bound to a core here"
)


def burn(seconds):
    """Use so much processor time in this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_time_in_which_a_process_does_not_run_is_no_work():
    is_over = Allowance(cpu_seconds=0.1, wall_seconds=60).guard()
    time.sleep(0.2)
    assert not is_over()
    burn(0.11)
    assert is_over()


def test_work_of_other_threads_counts():
    is_over = Allowance(cpu_seconds=0.1, wall_seconds=60).guard()
    other = threading.Thread(target=burn, args=(0.11,))
    other.start()
    other.join()
    assert is_over()


def test_wall_time_ends_it_too():
    is_over = Allowance(cpu_seconds=60, wall_seconds=0.1).guard()
    assert not is_over()
    time.sleep(0.11)
    assert is_over()


def test_packings_of_a_round_share_their_wall_time_and_nothing_else():
    round_time = RoundTime(Allowance(cpu_seconds=2, wall_seconds=0.3))
    with round_time.taken() as first:
        time.sleep(0.1)
    # What a round does between two packings is not their time.
    time.sleep(0.3)
    with round_time.taken() as second:
        time.sleep(0.3)
    with round_time.taken() as third:
        pass
    assert [first.cpu_seconds, second.cpu_seconds, third.cpu_seconds] == [2, 2, 2]
    assert first.wall_seconds == 0.3
    assert 0 < second.wall_seconds <= 0.2
    assert third.wall_seconds == 0


def test_a_round_that_packs_as_long_as_it_may_still_holds_the_fence():
    allowance = Allowance()
    # The tries of a round fit on an idle machine, and what hangs is over before another round may take the fence.
    assert arrange._TRIES * allowance.cpu_seconds <= allowance.wall_seconds
    assert allowance.wall_seconds < WRITES_WITHIN.total_seconds()
    assert allowance.wall_seconds + GRACE_SECONDS < HELD_FOR.total_seconds()


@contextmanager
def shared_core(solver, others):
    """Bind a warm solver's process to a core that so many others want as much; each is as nice as it is."""
    core = min(os.sched_getaffinity(0))
    for thread in Path(f"/proc/{solver._started.process.pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
    script = f"import os\nos.nice(5)\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    started = []
    try:
        for _ in range(others):
            started.append(subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE))
            started[-1].stdout.read(1)
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()
            one.stdout.close()


@needs_affinity
@pytest.mark.usefixtures("folder")
def test_a_process_that_gets_a_third_of_a_core_works_as_much():
    with running("burns", allowance=Allowance(cpu_seconds=0.3, wall_seconds=6)) as solver:
        until(lambda: solver.is_warm)
        with shared_core(solver, 2):
            milliseconds = solver(problem()).proven
    # By a clock on the wall it were a third of that.
    assert 300 <= milliseconds < 400


@needs_affinity
@pytest.mark.timeout(400)
def test_at_half_a_core_the_optimiser_finds_a_plan_at_most_one_percent_dearer():
    # A fifth of its work leaves this one 1.4 % dearer.
    asked = instance(60, 40, seed=2)
    solver = SolverProcess()
    solver.start()
    try:
        until(lambda: solver.is_warm, within=WARMS_WITHIN_SECONDS)
        alone = solver(asked)
        with shared_core(solver, 1):
            shared = solver(asked)
    finally:
        solver.close()
    assert shared.unplaced == alone.unplaced == {}
    assert asked.cost(shared.nodes) <= 1.01 * asked.cost(alone.nodes)
