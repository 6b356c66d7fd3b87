"""The fallback on problems made of numbers: rules it must keep, and how much it may waste."""

import random
import time

import pytest

from planner.packing.cost import lower_bound
from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem
from tests.planner.catalogue import instance
from tests.planner.packing_rules import broken_rules


def cost(problem: PackingProblem, packing: Packing) -> int:
    return sum(problem.bins[node.bin].price for node in packing.nodes)


def judged(problem: PackingProblem) -> tuple[Packing, float]:
    """Return the packing, after its rules were checked, and its cost over the bound."""
    packing = pack(problem)
    assert broken_rules(problem, packing) == []
    bound = lower_bound(problem, [g.count - packing.unplaced.get(i, 0) for i, g in enumerate(problem.groups)])
    assert packing.proven <= cost(problem, packing)
    assert bound <= cost(problem, packing)
    return packing, cost(problem, packing) / bound if bound else 1.0


SMALL, LARGE = 10, 16


def problem(groups):
    """Two kinds of machine: 2 units for 10, 4 units for 16."""
    return PackingProblem(tuple(groups), (BinRow((2,), SMALL), BinRow((4,), LARGE)))


def group(demand, count, **changes):
    return GroupRow((demand,), count, frozenset(b for b, size in enumerate((2, 4)) if size >= demand), **changes)


@pytest.mark.parametrize(
    ("groups", "least"),
    [
        ([group(1, 2)], SMALL),
        ([group(1, 3)], LARGE),
        ([group(1, 5)], LARGE + SMALL),
        ([group(1, 8)], 2 * LARGE),
        ([group(3, 2)], 2 * LARGE),
        ([group(3, 2), group(1, 2)], 2 * LARGE),
        ([group(1, 4, per_node=1)], 4 * SMALL),
        ([group(1, 1, apart=frozenset({1})), group(1, 1, apart=frozenset({0}))], 2 * SMALL),
        ([group(1, 200), group(2, 100), group(4, 3)], 103 * LARGE),
    ],
)
def test_small_problems_are_solved_exactly(groups, least):
    given = problem(groups)
    packing, _ = judged(given)
    assert cost(given, packing) == least
    assert not packing.unplaced


def test_a_price_beats_a_size():
    # One unit in a machine for 10, not in the larger one that is cheaper per unit.
    given = problem([group(1, 1)])
    assert [node.bin for node in pack(given).nodes] == [0]


def test_free_machines_are_filled_first():
    bins = (BinRow((2,), SMALL), BinRow((4,), LARGE), BinRow((3,), 0, limits=(0,)))
    given = PackingProblem((GroupRow((1,), 5, frozenset({0, 1, 2})),), bins, (1,))
    packing, _ = judged(given)
    assert sorted((node.bin, dict(node.counts)) for node in packing.nodes) == [(0, {0: 2}), (2, {0: 3})]


def test_limits_bind_and_higher_tiers_win():
    bins = (BinRow((2,), SMALL, limits=(0,)), BinRow((4,), LARGE, limits=(0, 1)))
    given = PackingProblem((group(2, 3, tier=0), group(2, 2, tier=5)), bins, (2, 1))
    packing, _ = judged(given)
    assert packing.unplaced == {0: 2}


def test_as_many_as_possible_get_a_place_where_limits_bind():
    bins = (BinRow((2,), SMALL, limits=(0,)), BinRow((4,), LARGE, limits=(0,)))
    given = PackingProblem((group(4, 1), group(1, 4)), bins, (1,))
    packing, _ = judged(given)
    assert packing.unplaced == {0: 1}


def test_what_no_machine_may_hold_stays_without_a_place():
    given = PackingProblem((GroupRow((9,), 2, frozenset()), group(1, 1)), problem([]).bins)
    packing, _ = judged(given)
    assert packing.unplaced == {0: 2}
    assert cost(given, packing) == SMALL


def test_nothing_to_do():
    assert pack(PackingProblem((), ())) == Packing()


def test_of_equally_cheap_machines_the_lower_rank_is_bought():
    bins = (BinRow((2,), SMALL, rank=5), BinRow((2,), SMALL, rank=1), BinRow((4,), SMALL, rank=3))
    given = PackingProblem((GroupRow((1,), 2, frozenset({0, 1, 2})),), bins)
    assert [node.bin for node in pack(given).nodes] == [1]


@pytest.mark.parametrize(("pods", "shapes", "gap"), [(20, 20, 0.34), (100, 50, 0.17), (1000, 50, 0.06)])
@pytest.mark.parametrize("seed", [0, 1])
def test_how_far_from_the_bound(pods, shapes, gap, seed):
    _, over = judged(instance(pods, shapes, seed))
    assert over <= 1 + gap


@pytest.mark.parametrize(("seed", "left", "most"), [(4, 0, 1.3), (1, 19, 2.2)])
def test_limits_leave_out_few(seed, left, most):
    # The fewest ever found are 0 and 17. Places come before the price: with seed 1, the pods for arm64 alone ask for
    # 5 % more cpu than all machines that are allowed have, and others get the dearest machines.
    packing, over = judged(instance(1000, 50, seed, limits=True))
    assert sum(packing.unplaced.values()) <= left
    assert over < most


@pytest.mark.parametrize("seed", range(4))
def test_it_buys_no_dearer_than_karpenters_rule(seed):
    given = instance(200, 40, seed)
    assert cost(given, pack(given)) <= karpenter(given)


def karpenter(given: PackingProblem) -> int:
    """Return the cost of claims that keep every type that still fits and buy the cheapest at the end.

    Source: Karpenter's provisioning scheduler, as this project's study of packing describes it.
    """
    claims: list[tuple[dict[int, int], list[int], frozenset[int]]] = []
    pods = sorted(range(len(given.groups)), key=lambda i: [-d for d in given.groups[i].demand[:2]])
    for i in (k for k in pods for _ in range(given.groups[k].count)):
        one = given.groups[i]
        for k, (held, load, bins) in sorted(enumerate(claims), key=lambda c: sum(c[1][0].values())):
            more = [a + b for a, b in zip(load, one.demand, strict=True)]
            left = frozenset(b for b in bins & one.bins if fits(more, given.bins[b].capacity))
            if left and not one.apart & set(held) and held.get(i, 0) < (one.per_node or one.count):
                claims[k] = ({**held, i: held.get(i, 0) + 1}, more, left)
                break
        else:
            claims.append(({i: 1}, list(one.demand), one.bins))
    return sum(min(given.bins[b].price for b in bins) for _, _, bins in claims)


def fits(load, capacity):
    return all(a <= b for a, b in zip(load, capacity, strict=True))


def test_the_same_problem_gets_the_same_plan():
    given = instance(200, 40, 3)
    assert pack(given) == pack(given)


def test_a_plan_with_all_its_machines_coming_buys_nothing_without_seats():
    # Replanning onto the same machines as free ones, as a pool without reservations does.
    given = instance(100, 20, 1)
    first = pack(given)
    coming = tuple(BinRow(given.bins[n.bin].capacity, 0, limits=(k,)) for k, n in enumerate(first.nodes))
    before = len(given.bins)
    groups = tuple(
        GroupRow(
            g.demand,
            g.count,
            g.bins | {before + k for k, n in enumerate(first.nodes) if n.bin in g.bins},
            g.tier,
            g.per_node,
            g.apart,
        )
        for g in given.groups
    )
    again = PackingProblem(groups, given.bins + coming, (1,) * len(first.nodes))
    packing, _ = judged(again)
    assert cost(again, packing) <= 0.15 * cost(given, first)


@pytest.mark.nightly
def test_ten_thousand_pods_are_planned_in_seconds():
    started = time.process_time()
    packing, over = judged(instance(10_000, 50, 0))
    assert not packing.unplaced
    assert over < 1.11
    assert time.process_time() - started < 10


def test_shuffled_groups_cost_about_the_same():
    given = instance(300, 30, 2)
    order = list(range(len(given.groups)))
    random.Random(5).shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    mixed = PackingProblem(
        tuple(
            GroupRow(g.demand, g.count, g.bins, g.tier, g.per_node, frozenset(place[j] for j in g.apart))
            for g in (given.groups[k] for k in order)
        ),
        given.bins,
        given.limits,
    )
    one, other = cost(given, judged(given)[0]), cost(mixed, judged(mixed)[0])
    assert abs(one - other) <= 0.05 * one


def test_a_pod_that_only_a_free_machine_holds_gets_it_before_those_that_a_machine_can_be_bought_for():
    groups = (GroupRow((7,), 1, frozenset({0})), GroupRow((2,), 1, frozenset({0, 1}), tier=5))
    packing = pack(PackingProblem(groups, (BinRow((8,), 0, (0,)), BinRow((4,), 100)), (1,)))
    assert {node.bin: dict(node.counts) for node in packing.nodes} == {0: {0: 1}, 1: {1: 1}}
    assert not packing.unplaced


def test_where_nothing_may_be_bought_the_higher_tier_gets_the_free_machine():
    groups = (GroupRow((7,), 1, frozenset({0})), GroupRow((2,), 1, frozenset({0, 1}), tier=5))
    packing = pack(PackingProblem(groups, (BinRow((8,), 0, (0,)), BinRow((4,), 100, (1,))), (1, 0)))
    assert {node.bin: dict(node.counts) for node in packing.nodes} == {0: {1: 1}}
    assert packing.unplaced == {0: 1}
