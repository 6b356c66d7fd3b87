"""Instances: bit by bit those of the study that they come from."""

from collections import Counter

import pytest

from benchmarks.catalogue import HOURS
from benchmarks.generator import BadRecipe, Recipe, draw
from benchmarks.instance import problem_of_instance
from planner.packing.cost import lower_bound
from planner.packing.optimiser.solve import solve
from planner.supply.sums.price_units import price_of
from simulator.peers.problem import Purchase
from tests.benchmarks.problems import KNOWN


@pytest.mark.parametrize(
    ("name", "shapes", "millicores", "fluid"),
    [
        ("100 x 50 mix", 49, 45_360, 165.25),
        ("1,000 x 50", 50, 374_600, 905.51),
        ("1,000 x 500 mix", 454, 635_285, 1633.71),
        ("10,000 x 500 mix", 450, 6_217_750, 18_336.13),
    ],
)
def test_known_instances(name, shapes, millicores, fluid):
    # Source: check values of the study's instances, seed 0.
    drawn = draw(KNOWN[name])
    assert len(drawn.shapes) == shapes
    assert sum(shape.cpu * shape.count for shape in drawn.shapes) == millicores
    assert sum(shape.count for shape in drawn.shapes) == KNOWN[name].pods
    # The planner's bound is about as good as the study's linear program, which knew nothing of pairs that keep apart.
    packing = problem_of_instance(drawn).packing
    bound = float(price_of(lower_bound(packing, [group.count for group in packing.groups])) * HOURS)
    assert bound > 0.99 * fluid


@pytest.mark.parametrize(
    ("pods", "shapes", "optima"),
    [
        (20, None, (28.87, 27.28, 48.47, 75.78)),
        (30, None, (45.89, 33.18, 31.88, 46.48)),
        (30, 5, (82.70, 36.58, 51.10, 71.70)),
    ],
)
def test_small_instances_have_the_optima_that_the_study_proved(pods, shapes, optima):
    # Source: proven optima of the study's instances, EUR per month, mix, seeds 0 to 3.
    costs = []
    for seed, optimum in enumerate(optima):
        problem = problem_of_instance(draw(Recipe(pods=pods, shapes=shapes, mix=True, seed=seed)))
        bought = Purchase(problem, solve(problem.packing))
        bound = price_of(lower_bound(problem.packing, [group.count for group in problem.packing.groups]))
        costs.append(float(bought.cost_per_hour * HOURS))
        assert float(bound * HOURS) <= optimum
    # To the cent, which no other instance would do.
    assert costs == list(optima)


def test_a_mix_has_all_constraints_and_only_small_shapes_have_caps_and_ports():
    recipe = KNOWN["10,000 x 500 mix"]
    shapes = draw(recipe).shapes
    assert {shape.per_node for shape in shapes} == {None, 1, 2}
    assert {shape.port for shape in shapes} == {None, 0, 1, 2, 3}
    assert {shape.architecture for shape in shapes} == {"", "amd64", "arm64"}
    assert any(shape.is_dedicated for shape in shapes)
    assert all(i in shapes[k].apart for i, shape in enumerate(shapes) for k in shape.apart)
    assert any(shape.apart for shape in shapes)
    small = recipe.pods // 100
    assert max(shape.count for shape in shapes if shape.per_node or shape.port is not None) <= small
    assert max(shape.count for shape in shapes) > small


def test_without_a_mix_only_the_architecture_counts():
    for shape in draw(KNOWN["1,000 x 50"]).shapes:
        assert (shape.per_node, shape.port, shape.apart, shape.is_dedicated) == (None, None, frozenset(), False)


def test_a_zonal_mix_pins_some_pods_and_spreads_some_evenly():
    drawn = draw(Recipe(pods=1000, shapes=100, mix=True, zonal=True))
    assert len(drawn.machines) == 57
    assert {shape.zone for shape in drawn.shapes} == {"", "fsn1", "nbg1", "hel1"}
    spread = [shape for shape in drawn.shapes if shape.is_spread]
    assert spread
    assert all(shape.count >= 3 and not shape.zone for shape in spread)


def test_limits_make_the_cheapest_types_scarce():
    assert draw(Recipe(pods=1000, shapes=50, limits=True)).limit == 2
    assert draw(Recipe(pods=100, shapes=50, limits=True)).limit == 1
    assert draw(Recipe(pods=100, shapes=50)).limit is None


def test_seeds_differ_and_the_same_seed_does_not():
    one, again, other = (draw(Recipe(pods=50, shapes=9, mix=True, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_all_distinct_pods_are_off_the_grid_and_counted_once_where_they_are_equal():
    drawn = draw(Recipe(pods=10_000, shapes=None))
    assert sum(shape.count for shape in drawn.shapes) == 10_000
    # Merged where they happen to be equal.
    assert 9_900 < len(drawn.shapes) < 10_000
    assert Counter(shape.cpu % 5 for shape in drawn.shapes).keys() == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "recipe",
    [
        {"pods": 0, "shapes": None},
        {"pods": 3, "shapes": 4},
        {"pods": 3, "shapes": 0},
        {"pods": 3, "shapes": -1},
        {"pods": 3, "shapes": 1, "seed": -1},
    ],
)
def test_a_recipe_without_an_instance_is_refused(recipe):
    with pytest.raises(BadRecipe, match="shapes not above pods"):
        Recipe(**recipe)
