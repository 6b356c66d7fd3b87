"""The bound is never above the optimum, and near it where it can be known."""

import pytest

from planner.packing.cost import lower_bound
from planner.packing.fallback.exact import cheapest_sharing
from planner.packing.index import ProblemIndex
from planner.packing.optimiser.solve import solve
from planner.packing.pod_prices import SCALE, pod_prices
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.plan import plan
from tests.planner.catalogue import instance
from tests.planner.packing.domains.rows import scene, several, spread

DEAR = 10**15


def optimum(problem: PackingProblem) -> int:
    index = ProblemIndex(problem)
    is_finished, nodes = cheapest_sharing(index, index.counts, DEAR)
    assert is_finished
    assert nodes is not None
    return index.cost(nodes)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("pods", "shapes"), [(5, 5), (8, 3), (9, 9)])
def test_the_bound_is_not_above_the_optimum(pods, shapes, seed):
    given = instance(pods, shapes, seed)
    assert 0 < lower_bound(given, [g.count for g in given.groups]) <= optimum(given)


@pytest.mark.parametrize("seed", range(6))
def test_no_machine_holds_pods_worth_more_than_its_price(seed):
    given = instance(300, 30, seed)
    index = ProblemIndex(given)
    prices = pod_prices(index, index.counts)
    for b, made_of in enumerate(given.bins):
        for order in (index.members[b], index.members[b][::-1], sorted(index.members[b], key=lambda i: -prices.pod[i])):
            counts: dict[int, int] = {}
            index.fill(order, index.counts, counts, list(made_of.capacity))
            assert sum(prices.pod[i] * n for i, n in counts.items()) <= made_of.price * SCALE


def test_one_class_is_bounded_by_its_cheapest_cover():
    # 5 pods of 1 unit: a large machine (4 units, 16) and a small one (2 units, 10).
    given = PackingProblem((GroupRow((1,), 5, frozenset({0, 1})),), (BinRow((2,), 10), BinRow((4,), 16)))
    assert lower_bound(given, [5]) == 26


def test_a_bound_is_a_cost_that_machines_can_have():
    given = PackingProblem((GroupRow((1,), 1, frozenset({0, 1})),), (BinRow((100,), 700), BinRow((300,), 1100)))
    assert lower_bound(given, [1]) == 700
    given = PackingProblem((GroupRow((1,), 150, frozenset({0, 1})),), (BinRow((100,), 700), BinRow((300,), 1100)))
    assert lower_bound(given, [150]) == 1100


def test_pods_above_half_a_machine_need_one_each():
    # By volume two machines would do for three pods of 60 %.
    given = PackingProblem(
        (GroupRow((60, 1), 3, frozenset({0})), GroupRow((1, 60), 3, frozenset({0}))), (BinRow((100, 100), 10),)
    )
    assert lower_bound(given, [3, 3]) == 30


def test_a_cap_per_machine_counts():
    given = PackingProblem((GroupRow((1,), 6, frozenset({0}), per_node=2),), (BinRow((100,), 10),))
    assert lower_bound(given, [6]) == 30


def test_free_machines_lower_the_bound():
    bins = (BinRow((2,), 10), BinRow((3,), 0, limits=(0,)))
    given = PackingProblem((GroupRow((1,), 5, frozenset({0, 1})),), bins, (1,))
    assert lower_bound(given, [5]) == 10
    assert lower_bound(given, [3]) == 0


def test_free_machines_that_pods_cannot_use_do_not():
    bins = (BinRow((2,), 10), BinRow((50,), 0, limits=(0,)))
    given = PackingProblem((GroupRow((1,), 4, frozenset({0})), GroupRow((1,), 4, frozenset({1}))), bins, (1,))
    assert lower_bound(given, [4, 4]) == 20


def test_nothing_costs_nothing():
    assert lower_bound(PackingProblem((), ()), []) == 0
    assert lower_bound(instance(10, 5, 0), [0] * 5) == 0


@pytest.mark.parametrize("pods", [40, 60])
def test_what_is_proven_for_all_pods_is_not_told_of_a_plan_that_a_limit_cuts(pods):
    web = several(pods, topologySpreadConstraints=[spread()])
    queue = several(pods, "300m", app="queue", topologySpreadConstraints=[spread(app="queue")])
    given = scene(*web, *queue)
    given.pools[0]["spec"]["limits"]["max"] = 4
    made = plan(given.snapshot(), solve)
    assert made.unplaced
    assert 0 < made.lower_bound_per_hour <= made.cost_per_hour
