"""Cases of the benchmark: names, and the families that the generator does not draw."""

import pytest

from benchmarks.case import Case, Family
from benchmarks.generator import BadRecipe, Recipe, draw
from benchmarks.instance import problem_of_instance

THOUSAND = Recipe(pods=1000, shapes=50)


@pytest.mark.parametrize(
    ("case", "name"),
    [
        (Case(THOUSAND), "1,000 x 50"),
        (Case(Recipe(pods=30, shapes=None, mix=True, seed=2)), "30 x all distinct, mix, seed 2"),
        (Case(Recipe(pods=1000, shapes=50, zonal=True, limits=True)), "1,000 x 50, zonal, limits"),
        (Case(THOUSAND, Family.LINEAR), "1,000 x 50, linear prices"),
    ],
)
def test_names_tell_cases_apart(case, name):
    assert str(case) == name


def test_what_the_generator_draws_is_unchanged():
    assert Case(THOUSAND).problem == problem_of_instance(draw(THOUSAND))


def test_one_family_sells_no_other_machine_and_takes_every_pod():
    problem = Case(THOUSAND, Family.ONE_FAMILY).problem
    assert problem.offerings == ("cx22", "cx32", "cx42", "cx52")
    assert problem.pods == 1000
    assert all(3 in group.bins for group in problem.packing.groups)


def test_linear_prices_make_no_type_a_bargain():
    problem = Case(THOUSAND, Family.LINEAR).problem
    assert len(problem.offerings) == 19
    for made_of in problem.packing.bins:
        cpu, memory, *_ = made_of.capacity
        assert made_of.price == 1000 * (2 * cpu + memory)


def test_where_all_is_scarce_every_type_has_a_limit():
    problem = Case(Recipe(pods=1000, shapes=50, limits=True), Family.ALL_SCARCE).problem
    assert problem.offerings == ("cx22", "cx32", "cax11", "cax21", "cax31", "cax41")
    assert problem.packing.limits == (2,) * 6
    assert {len(made_of.limits) for made_of in problem.packing.bins} == {1}


@pytest.mark.parametrize("seed", [0, 1])
def test_triplets_fill_their_machines_and_no_four_pods_share_one(seed):
    problem = Case(Recipe(pods=60, shapes=None, seed=seed), Family.TRIPLETS).problem
    [machine] = problem.packing.bins
    for r in range(3):
        demands = [group.demand[r] for group in problem.packing.groups for _ in range(group.count)]
        assert len(demands) == 60
        assert sum(demands) == 20 * machine.capacity[r]
        assert 4 * min(demands) > machine.capacity[r] >= 2 * max(demands)
    assert problem == Case(Recipe(pods=60, shapes=None, seed=seed), Family.TRIPLETS).problem
    assert problem != Case(Recipe(pods=60, shapes=None, seed=seed + 1), Family.TRIPLETS).problem


def test_triplets_come_in_threes():
    with pytest.raises(BadRecipe, match="three divides"):
        _ = Case(Recipe(pods=61, shapes=None), Family.TRIPLETS).problem
