"""The packer of commands: the optimiser where there are many pods, and not even its import where there are few."""

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from types import ModuleType

import pytest

from planner.packing.fallback.exact import MOST_PODS
from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem
from worker.solver.allowance import CPU_SECONDS, WALL_SECONDS
from worker.solver.in_process import packer, patient_packer

SOLVER = "worker.solver.optimiser"
LADDER = "planner.packing.optimiser.solve"
PROVEN = 7
PREPARE = "from worker.solver.in_process import prepare; prepare()"
NOTE = "growth: compiling the optimiser, once after each installation; it takes a minute or two\n"
EACH_TIME = (
    "growth: compiling the optimiser, each time, as no folder for it can be written: name one with NUMBA_CACHE_DIR; "
    "it takes a minute or two\n"
)
KERNELS = textwrap.dedent("""
    import sys, time
    from planner.packing.optimiser.kernel import kernel

    @kernel
    def twice(number):
        return 2 * number

    @kernel
    def thrice(number):
        return number + twice(number)

    def warm():
        time.sleep(float(sys.argv[1]))
        print(thrice(2), thrice(2.5))
""")
HEAVY = {"numpy", "numba", "ortools", "pandas"}


def problem(pods):
    """Machines of 4 units for 10 and pods of 1."""
    return PackingProblem((GroupRow((1,), pods, frozenset({0})),), (BinRow((4,), 10),))


@pytest.fixture
def solver(monkeypatch):
    """The optimiser's module, for a while with functions of the test."""
    module = ModuleType(SOLVER)
    module.calls = []
    module.warm = lambda compiles: module.calls.append("warm")
    module.solve = lambda problem, *, is_over: replace(pack(problem), proven=PROVEN)
    monkeypatch.setitem(sys.modules, SOLVER, module)
    return module


def half_free(pods):
    """The same with a machine that is there: whose pods it is to take, the quick answer does not prove."""
    free, paid = BinRow((4,), 0, limits=(0,)), BinRow((4,), 10)
    return PackingProblem((GroupRow((1,), pods, frozenset({0, 1})),), (free, paid), (1,))


NOWHERE = PackingProblem((GroupRow((1,), 3, frozenset()),), (BinRow((4,), 10),))


@pytest.mark.parametrize("asked", [problem(MOST_PODS), half_free(4), NOWHERE], ids=["proven", "free", "nowhere"])
@pytest.mark.parametrize("made", [packer, patient_packer])
def test_what_is_proven_for_few_pods_is_kept_without_the_optimiser(monkeypatch, asked, made):
    # Whoever imports it now fails.
    monkeypatch.setitem(sys.modules, SOLVER, None)
    assert made()(asked) == pack(asked)


@pytest.mark.parametrize("asked", [problem(MOST_PODS + 1), half_free(5)], ids=["many", "not proven"])
@pytest.mark.parametrize("made", [packer, patient_packer])
def test_all_else_is_the_optimisers(solver, asked, made):
    assert made()(asked).proven == PROVEN
    assert solver.calls == ["warm"]


def test_pods_that_only_a_limit_keeps_out_are_the_optimisers(solver):
    limited = PackingProblem((GroupRow((3,), 2, frozenset({0})),), (BinRow((4,), 10, limits=(0,)),), (1,))
    assert pack(limited).unplaced
    assert packer()(limited).proven == PROVEN


def test_many_pods_are_the_optimisers(solver):
    packing = packer()(problem(MOST_PODS + 1))
    assert packing.proven == PROVEN
    assert packing.nodes == pack(problem(MOST_PODS + 1)).nodes
    assert solver.calls == ["warm"]


@pytest.fixture
def clocks(monkeypatch):
    """Wall and processor time, as the test says."""
    clocks = {"monotonic": 1000.0, "process_time": 1.0}
    monkeypatch.setattr("worker.solver.allowance.monotonic", lambda: clocks["monotonic"])
    monkeypatch.setattr("worker.solver.allowance.process_time", lambda: clocks["process_time"])
    return clocks


@pytest.mark.parametrize(("clock", "seconds"), [("process_time", CPU_SECONDS), ("monotonic", WALL_SECONDS)])
def test_its_time_begins_when_it_is_warm_and_ends(solver, clocks, clock, seconds):
    seen = []

    def warm(compiles):
        for name in clocks:
            clocks[name] += 30

    def solve(problem, *, is_over):
        seen.append(is_over())
        clocks[clock] += seconds + 0.1
        seen.append(is_over())
        return pack(problem)

    solver.warm, solver.solve = warm, solve
    packer()(problem(MOST_PODS + 1))
    assert seen == [False, True]


def test_packings_of_one_plan_share_their_wall_time(solver, clocks):
    seen = []

    def solve(problem, *, is_over):
        clocks["monotonic"] += 0.6 * WALL_SECONDS
        seen.append(is_over())
        return pack(problem)

    solver.solve = solve
    one, other = packer(), packer()
    for packs in (one, one, other):
        packs(problem(MOST_PODS + 1))
    assert seen == [False, True, False]


def test_plans_that_are_compared_get_all_their_work(solver, clocks):
    seen = []

    def solve(problem, *, is_over):
        for name in clocks:
            clocks[name] += 1000
        seen.append(is_over())
        return pack(problem)

    solver.solve = solve
    patient_packer()(problem(MOST_PODS + 1))
    assert seen == [False]


def test_a_wrong_answer_is_not_shown(solver):
    solver.solve = lambda problem, *, is_over: Packing((PackedNode(0, {0: problem.groups[0].count}),))
    assert packer()(problem(MOST_PODS + 1)) == pack(problem(MOST_PODS + 1))


@pytest.fixture
def prepared(tmp_path):
    """Prepares an optimiser of two small kernels in a process of its own and returns what it prints, and complains."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    script = f"import sys, kernels; sys.modules[{LADDER!r}] = kernels\n{PREPARE}"

    def run(seconds=0.0, cache="cache"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(seconds)],
            env=os.environ | {"PYTHONPATH": f".:{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout, done.stderr

    return run


def test_compiling_is_told_once_when_it_begins_and_never_of_what_is_loaded(prepared):
    """However long it takes: five seconds on a slow machine were called compiling, though all was kept."""
    assert prepared() == ("6 7.5\n", NOTE)
    assert prepared(seconds=5) == ("6 7.5\n", "")
    assert prepared(cache="another folder") == ("6 7.5\n", NOTE)


def test_where_nothing_can_be_kept_it_is_told_what_to_do(prepared, tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("no folder")
    monkeypatch.setenv("HOME", "/dev/null")
    for _ in range(2):
        assert prepared(cache="kernels.py/below a file") == ("6 7.5\n", EACH_TIME)


def test_the_optimiser_says_so_in_a_cold_folder_and_not_in_this_one(tmp_path):
    command = [sys.executable, "-c", PREPARE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        # Whether it would come to an end in a minute or two is not the question.
        assert process.stderr.readline() == NOTE
        process.kill()


@pytest.mark.parametrize(
    "module", ["worker.cli", "worker.main", "worker.commands.plan.command", "worker.solver.process"]
)
def test_commands_begin_without_what_the_optimiser_needs(module):
    script = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.split() == []
