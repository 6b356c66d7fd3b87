"""The solver's process, with real processes; the solvers in them are those of `solver_targets`."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from tests.planner.catalogue import instance
from tests.planner.packing_rules import broken_rules
from tests.worker.conftest import freeze
from tests.worker.metrics_reader import metrics_shown
from tests.worker.running_solver import ROOT, SMALLEST_FOR_SOLVER, WITHIN, problem, running, until
from tests.worker.solver_targets import PROVEN
from worker.solver.allowance import Allowance
from worker.solver.child import bring_kernels
from worker.solver.process import SolverProcess
from worker.solver.started import WARMS_WITHIN_SECONDS

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def answers(monkeypatch):
    """How often each kind of answer was given, as /metrics would show it."""
    with metrics_shown(monkeypatch) as shown:
        yield lambda: {name: int(number) for (name,), number in shown.values("growth_packing_seconds_count").items()}


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    # What nobody waited for is still in the list.
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_process_answers_and_the_worker_counts_who_did(answers):
    with running("good") as solver:
        until(lambda: solver.is_warm)
        packing = solver(problem())
        assert packing.proven == PROVEN
        assert packing.nodes == pack(problem()).nodes
        assert solver(problem(1000)).proven == PROVEN
        assert solver(problem(SMALLEST_FOR_SOLVER - 1)) == pack(problem(SMALLEST_FOR_SOLVER - 1))
        assert answers() == {"solver": 2, "small": 1}


def test_what_was_loaded_is_no_part_of_later_collections(answers):
    with running("frozen") as solver:
        until(lambda: solver.is_warm)
        # More objects than a problem has: those of the libraries.
        assert solver(problem()).proven > 10_000
    assert answers() == {"solver": 1}


def test_few_pods_go_there_unless_their_answer_is_proven(answers):
    free, paid = BinRow((4,), 0, limits=(0,)), BinRow((4,), 10)
    unproven = PackingProblem((GroupRow((1,), 5, frozenset({0, 1})),), (free, paid), (1,))
    assert (pack(unproven).proven, unproven.cost(pack(unproven).nodes)) == (0, 10)
    with running("good") as solver:
        assert solver(unproven) == pack(unproven)
        until(lambda: solver.is_warm)
        assert solver(unproven).proven == PROVEN
        assert solver(problem(5)) == pack(problem(5))
        assert answers() == {"fallback-because-cold": 1, "solver": 1, "small": 1}


@pytest.mark.timeout(400)
def test_the_optimiser_itself_answers_in_its_process(answers):
    asked = instance(120, 12, seed=1)
    solver = SolverProcess(allowance=Allowance(cpu_seconds=0.5))
    solver.start()
    try:
        # Minutes, where nothing was compiled before.
        until(lambda: solver.is_warm, within=WARMS_WITHIN_SECONDS)
        packing = solver(asked)
    finally:
        solver.close()
    assert answers() == {"solver": 1}
    assert broken_rules(asked, packing) == []
    assert not packing.unplaced


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ends", "its process ended with code 3"),
        ("crashes", "its process was killed by SIGSEGV"),
        ("overfills", "its answer is wrong: resource 0 of a machine of kind 0 is overfilled"),
        ("babbles", "its answer is no packing"),
        ("unlike", "what came is no object: "),
    ],
)
def test_a_process_that_fails_is_replaced_and_the_fallback_stands_in(name, reason, answers):
    with capture_logs() as lines, running(name) as solver:
        until(lambda: solver.is_warm)
        assert solver(problem()) == pack(problem())
        assert not solver.is_warm
        assert answers() == {"fallback-because-failed": 1}
        until(lambda: solver.is_warm)
        assert solver(problem()).proven == PROVEN
    (restart,) = (line for line in lines if line["event"] == "the solver is started anew")
    assert restart["reason"].startswith(reason)


@pytest.mark.parametrize("name", ["hangs", "good"])
def test_far_over_its_deadline_it_is_killed_and_the_fallback_stands_in(name, answers):
    with capture_logs() as lines, running(name, allowance=Allowance(wall_seconds=0.2), grace_seconds=0.3) as solver:
        until(lambda: solver.is_warm)
        pid = solver._started.process.pid
        if name == "good":
            # It does not even read what it is sent.
            freeze(pid)
        began = time.monotonic()
        # A megabyte: more than a socket takes that nobody reads from.
        assert solver(of_many_bytes()).proven == 0
        assert 0.5 <= time.monotonic() - began < WITHIN
        assert answers() == {"fallback-because-late": 1}
        until(lambda: not is_alive(pid))
        until(lambda: solver.is_warm)
        assert solver(problem()).proven == PROVEN
    (restart,) = (line for line in lines if line["event"] == "the solver is started anew")
    assert restart["reason"] == "no answer within 0.5 s"


def of_many_bytes():
    return replace(problem(), limits=(1 << 30,) * 200_000)


def test_an_exception_is_told_and_the_process_goes_on(answers):
    with capture_logs() as lines, running("raises") as solver:
        until(lambda: solver.is_warm)
        pid = solver._started.process.pid
        assert solver(problem()) == pack(problem())
        assert solver(problem()).proven == PROVEN
        assert solver._started.process.pid == pid
        assert answers() == {"fallback-because-failed": 1, "solver": 1}
    (told,) = (line for line in lines if line["log_level"] == "warning")
    assert told["reason"] == "ZeroDivisionError: division by zero"
    assert "in fail" in told["exception"]


def test_it_is_told_when_its_time_is_over():
    with running("takes_its_time", allowance=Allowance(wall_seconds=0.3)) as solver:
        until(lambda: solver.is_warm)
        assert 300 <= solver(problem()).proven < 3300


def test_packings_of_a_round_share_the_wall_time():
    with running("takes_its_time", allowance=Allowance(wall_seconds=0.4)) as solver:
        until(lambda: solver.is_warm)
        packs, began = solver.for_round(), time.monotonic()
        first, second = packs(problem()).proven, packs(problem()).proven
        seconds = time.monotonic() - began
        assert solver.for_round()(problem()).proven >= 400
    assert first >= 400 > second
    assert seconds < 1


def test_a_cold_process_keeps_nobody_waiting(answers, folder):
    began = time.monotonic()
    with running("never_warm") as solver:
        assert solver(problem()) == pack(problem())
        until((folder / "warming").exists)
        assert solver(problem()) == pack(problem())
        assert not solver.is_warm
        assert answers() == {"fallback-because-cold": 2}
    assert time.monotonic() - began < WITHIN


def test_one_that_cannot_be_warmed_is_tried_at_longer_and_longer_intervals(folder):
    with capture_logs() as lines, running("cannot_warm", first_pause_seconds=0.1) as solver:
        until(lambda: len([*folder.glob("try-*")]) == 3)
        assert solver(problem()) == pack(problem())
    restarts = [line for line in lines if line["event"] == "the solver is started anew"]
    assert [line["in_seconds"] for line in restarts[:2]] == [0.1, 0.2]
    assert {line["reason"] for line in restarts} == {"ImportError: no kernels here"}
    tries = sorted(int(path.name.removeprefix("try-")) for path in folder.glob("try-*"))
    assert tries[2] - tries[1] >= 0.2e9


def test_a_process_that_ends_between_problems_is_replaced():
    with running("good") as solver:
        until(lambda: solver.is_warm)
        first = solver._started.process.pid
        os.kill(first, signal.SIGKILL)
        until(lambda: solver.is_warm and solver._started.process.pid != first)
        assert solver(problem()).proven == PROVEN


def test_without_a_program_to_start_the_fallback_answers(monkeypatch, answers):
    monkeypatch.setattr("worker.solver.started.sys.executable", str(ROOT / "nowhere"))
    with capture_logs() as lines, running("good") as solver:
        until(lambda: any(line["event"] == "the solver is started anew" for line in lines))
        assert solver(problem()) == pack(problem())
    assert answers() == {"fallback-because-cold": 1}
    assert lines[0]["reason"].startswith("no process can be started: ")


def test_two_threads_are_answered_one_after_the_other(answers):
    proven = []
    with running("one_at_a_time") as solver:
        until(lambda: solver.is_warm)
        threads = [threading.Thread(target=lambda: proven.append(solver(problem()).proven)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WITHIN)
        assert answers() == {"solver": 3}
    assert proven == [PROVEN] * 3


def test_its_end_ends_the_process_and_leaves_the_fallback():
    with running("good") as solver:
        until(lambda: solver.is_warm)
        pid = solver._started.process.pid
    assert not is_alive(pid)
    assert solver(problem()) == pack(problem())


SCRIPT = textwrap.dedent("""
    import sys, time
    from worker.solver.process import SolverProcess
    solver = SolverProcess("tests.worker.solver_targets." + sys.argv[1])
    solver.start()
    while solver._started is None:
        time.sleep(0.01)
    print(solver._started.process.pid, flush=True)
    time.sleep(60)
""")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when it next looks at its socket")
def test_it_dies_with_the_worker_even_while_it_is_busy(folder):
    with subprocess.Popen([sys.executable, "-c", SCRIPT, "never_warm"], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        until((folder / "warming").exists)
        assert is_alive(pid)
        worker.kill()
    until(lambda: not is_alive(pid))


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """What an image has, of one kernel."""
    folder = tmp_path / "share" / "kernels"
    (folder / "solver_0").mkdir(parents=True)
    (folder / "solver_0" / "kernel.nbi").write_text("index")
    monkeypatch.setattr("worker.solver.child.COMPILED", folder)
    return folder


def test_what_the_image_has_compiled_is_brought_to_where_numba_looks(compiled, tmp_path):
    cache = tmp_path / "cache"
    bring_kernels(str(cache))
    assert (cache / "solver_0" / "kernel.nbi").read_text() == "index"
    # What has been compiled since is not lost.
    (cache / "solver_0" / "kernel.nbi").write_text("newer")
    bring_kernels(str(cache))
    assert (cache / "solver_0" / "kernel.nbi").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir() if "cache" in path.name] == ["cache"]


def test_where_it_cannot_be_brought_kernels_are_compiled(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    bring_kernels(str(tmp_path / "file" / "cache"))
    bring_kernels("")
    monkeypatch.setattr("worker.solver.child.COMPILED", tmp_path / "none")
    bring_kernels(str(tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()
