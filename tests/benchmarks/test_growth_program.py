"""Growth's optimiser as a program: what it answers to a file is what it answers to the problem."""

import pytest

from benchmarks.checker import check
from benchmarks.generator import Recipe, draw
from benchmarks.growth_program import run
from benchmarks.instance import problem_of_instance, spread_problem_of
from benchmarks.objects import snapshot_of
from benchmarks.problem_file import read, read_instance, write
from planner.packing.optimiser.solve import solve
from planner.plan import plan
from planner.supply.sums.price_units import price_of


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


@pytest.mark.timeout(300)
def test_where_pods_are_spread_it_answers_with_the_plan_of_a_round(tmp_path):
    instance = draw(Recipe(pods=40, shapes=6, mix=True, zonal=True, hosts=True))
    path = tmp_path / "problem.json"
    problem = spread_problem_of(instance)
    write(path, problem, instance.machines, {})
    problem = read(path)
    answer = run(path, problem)
    check(answer.purchase)
    assert answer.purchase.placed == 40
    made = plan(snapshot_of(read_instance(path)), solve)
    assert answer.purchase.cost_per_hour == made.cost_per_hour
    assert price_of(answer.purchase.packing.proven) == made.lower_bound_per_hour > 0
