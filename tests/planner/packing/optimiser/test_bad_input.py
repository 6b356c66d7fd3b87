"""Problems that nobody would pose on purpose: each gets a packing that keeps all rules, or none of its pods a place."""

from dataclasses import replace

import pytest

from planner.packing.fallback.pack import pack
from planner.packing.optimiser.effort import ROUND, Effort
from planner.packing.optimiser.solve import solve
from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem
from tests.planner.packing_rules import broken_rules

SHORT = Effort(
    starts=2,
    placing=100_000,
    turns=1,
    improving=200_000,
    improving_a_machine=10_000,
    whole=0.01,
    proof=0,
)
SMALL, LARGE = BinRow((4, 8), 5), BinRow((16, 32), 19)
BOTH = frozenset({0, 1})
HIGHEST = 10**15
"""Billionths per hour: a million."""


def packed(problem: PackingProblem, effort: Effort = ROUND) -> Packing:
    packing = solve(problem, effort)
    assert broken_rules(problem, packing) == []
    assert 0 <= packing.proven <= cost(problem, packing)
    return packing


def cost(problem: PackingProblem, packing: Packing) -> int:
    return problem.cost(packing.nodes)


def test_a_hundred_thousand_pods_that_are_alike():
    problem = PackingProblem((GroupRow((1, 2), 100_000, BOTH),), (SMALL, LARGE))
    packing = packed(problem)
    # Sixteen of them fill a large machine, which costs less than four small ones.
    assert not packing.unplaced
    assert (len(packing.nodes), cost(problem, packing)) == (6_250, 6_250 * 19)
    assert packing.proven == pytest.approx(6_250 * 19, rel=0.001)


def test_five_thousand_shapes_of_one_pod():
    groups = tuple(GroupRow((100 + i, 9_000 - i), 1, BOTH) for i in range(5_000))
    problem = PackingProblem(groups, (BinRow((20_000, 40_000), 5_000), BinRow((80_000, 160_000), 19_000)))
    packing = packed(problem, SHORT)
    assert not packing.unplaced
    assert cost(problem, packing) < 1.2 * packing.proven


@pytest.mark.parametrize("prices", [(5, 19), (0, 19), (0, 0)])
def test_everything_is_sold_out(prices):
    bins = tuple(replace(one, price=price, limits=(0,)) for one, price in zip((SMALL, LARGE), prices, strict=True))
    problem = PackingProblem((GroupRow((1, 1), 500, BOTH), GroupRow((2, 1), 3, BOTH, tier=7)), bins, (0,))
    packing = packed(problem)
    assert packing == Packing(unplaced={0: 500, 1: 3})


def test_one_machine_for_a_thousand_pods():
    problem = PackingProblem((GroupRow((1, 1), 1_000, frozenset({0})),), (replace(LARGE, limits=(0,)),), (1,))
    packing = packed(problem)
    assert (len(packing.nodes), packing.unplaced) == (1, {0: 1_000 - 16})


@pytest.mark.parametrize("count", [3, 1_000])
def test_machines_without_any_room(count):
    nothing = BinRow((0, 0), 1)
    problem = PackingProblem((GroupRow((1, 1), count, frozenset({1})),), (nothing, LARGE))
    packing = packed(problem)
    assert not packing.unplaced
    assert {node.bin for node in packing.nodes} == {1}


@pytest.mark.parametrize("count", [3, 1_000])
def test_a_resource_of_which_nobody_has_or_asks_anything(count):
    problem = PackingProblem((GroupRow((1, 0), count, BOTH),), (BinRow((4, 0), 5), BinRow((16, 0), 19)))
    packing = packed(problem)
    assert not packing.unplaced
    assert cost(problem, packing) <= 19 * -(-count // 16)


def test_pods_that_ask_for_nothing_share_the_cheapest_machine():
    problem = PackingProblem((GroupRow((0, 0), 1_000, BOTH), GroupRow((1, 1), 1, BOTH)), (SMALL, LARGE))
    packing = packed(problem)
    assert not packing.unplaced
    assert cost(problem, packing) == 5


@pytest.mark.parametrize("number", [6, 160])
def test_pods_that_stay_apart_from_everything_have_a_machine_each(number):
    everyone = frozenset(range(number))
    groups = tuple(GroupRow((1, 1), 2, BOTH, per_node=1, apart=everyone - {i}) for i in range(number))
    problem = PackingProblem(groups, (SMALL, LARGE))
    packing = packed(problem)
    assert not packing.unplaced
    assert cost(problem, packing) == 2 * number * 5


@pytest.mark.parametrize("count", [3, 1_000])
def test_pods_that_may_be_nowhere_have_no_place_and_others_have(count):
    problem = PackingProblem((GroupRow((1, 1), count, frozenset()), GroupRow((4, 8), count, BOTH)), (SMALL, LARGE))
    packing = packed(problem)
    assert packing.unplaced == {0: count}
    assert cost(problem, packing) == 19 * (count // 4) + 5 * (count % 4)


@pytest.mark.parametrize("groups", [(), (GroupRow((1, 1), 9, frozenset()),), (GroupRow((1, 1), 0, BOTH),)])
def test_nothing_to_do(groups):
    problem = PackingProblem(groups, (SMALL, LARGE))
    assert packed(problem).nodes == ()
    assert packed(PackingProblem((), ())) == Packing()


@pytest.mark.parametrize("count", [3, 1_000])
@pytest.mark.parametrize(
    "prices",
    [(1, 1), (1, HIGHEST), (HIGHEST, 1), (HIGHEST, HIGHEST), (HIGHEST, HIGHEST - 1), (1, 2)],
)
def test_absurd_prices(prices, count):
    bins = tuple(replace(one, price=price) for one, price in zip((SMALL, LARGE), prices, strict=True))
    problem = PackingProblem((GroupRow((1, 2), count, BOTH), GroupRow((2, 1), count, BOTH)), bins)
    packing = packed(problem)
    assert not packing.unplaced
    one_a_machine = 2 * count * min(prices)
    assert cost(problem, packing) < one_a_machine


def test_groups_without_pods_and_pods_that_ask_for_nothing_stop_nobody():
    every = frozenset({0})
    problem = PackingProblem(
        (GroupRow((1,), 0, every), GroupRow((0,), 3, every), GroupRow((2,), 5, every, per_node=1)), (BinRow((4,), 10),)
    )
    for packing in (solve(problem), pack(problem)):
        assert broken_rules(problem, packing) == []
        assert packing.unplaced == {}
        assert len(packing.nodes) == 5
