"""The packer of commands: the optimiser where there are many pods, and not even its import where there are few."""

import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from planner.packing.greedy.exact import MOST_PODS
from planner.packing.greedy.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem
from worker.solver.in_process import DEADLINE_SECONDS, packer

SOLVER = "planner.packing.optimiser.solve"
PROVEN = 7
HEAVY = {"numpy", "numba", "ortools", "pandas"}


def problem(pods):
    """Machines of 4 units for 10 and pods of 1."""
    return PackingProblem((GroupRow((1,), pods, frozenset({0})),), (BinRow((4,), 10),))


@pytest.fixture
def solver(monkeypatch):
    """The optimiser's module, for a while with functions of the test."""
    module = ModuleType(SOLVER)
    module.calls = []
    module.warm = lambda: module.calls.append("warm")
    module.solve = lambda problem, *, is_over: replace(pack(problem), proven=PROVEN)
    monkeypatch.setitem(sys.modules, SOLVER, module)
    return module


def test_few_pods_are_packed_without_the_optimiser(monkeypatch):
    # Whoever imports it now fails.
    monkeypatch.setitem(sys.modules, SOLVER, None)
    assert packer()(problem(MOST_PODS)) == pack(problem(MOST_PODS))
    with pytest.raises(ImportError):
        packer()(problem(MOST_PODS + 1))


def test_many_pods_are_the_optimisers(solver):
    packing = packer()(problem(MOST_PODS + 1))
    assert packing.proven == PROVEN
    assert packing.nodes == pack(problem(MOST_PODS + 1)).nodes
    assert solver.calls == ["warm"]


def test_its_time_begins_when_it_is_warm_and_ends(solver, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("worker.solver.in_process.monotonic", lambda: now[0])
    seen = []

    def warm():
        now[0] += 30

    def solve(problem, *, is_over):
        seen.append(is_over())
        now[0] += DEADLINE_SECONDS + 0.1
        seen.append(is_over())
        return pack(problem)

    solver.warm, solver.solve = warm, solve
    packer()(problem(MOST_PODS + 1))
    assert seen == [False, True]


def test_a_wrong_answer_is_not_shown(solver):
    solver.solve = lambda problem, *, is_over: Packing((PackedNode(0, {0: problem.groups[0].count}),))
    assert packer()(problem(MOST_PODS + 1)) == pack(problem(MOST_PODS + 1))


@pytest.mark.parametrize(
    "module", ["worker.cli", "worker.main", "worker.commands.plan.command", "worker.solver.process"]
)
def test_commands_begin_without_what_the_optimiser_needs(module):
    script = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.split() == []
