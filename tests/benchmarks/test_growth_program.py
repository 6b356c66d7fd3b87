"""Growth's optimiser as a program: what it answers to a file is what it answers to the problem."""

import pytest

from benchmarks.checker import check
from benchmarks.generator import Recipe, draw
from benchmarks.growth_program import run
from benchmarks.instance import problem_of_instance
from benchmarks.problem_file import write
from planner.packing.optimiser.solve import solve


# Where its code was never compiled, that is a minute of it.
@pytest.mark.timeout(300)
def test_it_answers_with_the_optimisers_plan(tmp_path):
    instance = draw(Recipe(pods=100, shapes=50, mix=True))
    problem = problem_of_instance(instance)
    path = tmp_path / "problem.json"
    write(path, problem, instance.machines, {})
    answer = run(path, problem)
    check(answer.purchase)
    assert answer.purchase.packing == solve(problem.packing)
    assert answer.purchase.placed == 100
    assert 0 < answer.seconds < 60
    assert answer.versions.startswith("Growth ")
    assert "ortools 9." in answer.versions
