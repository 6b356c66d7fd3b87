"""Stocks of machines: what they prove, and that all pods find a place on them where there is one for each."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.case import Case, Family
from benchmarks.generator import Recipe
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.answer import Answer
from planner.packing.optimiser.column import Pool
from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.fluid import bound_of_fluid
from planner.packing.optimiser.kinds import kinds_of
from planner.packing.optimiser.lots import MOST_LOTS, lots_of
from planner.packing.optimiser.question import Question, prices_of, question_of
from planner.packing.optimiser.shares import shares_of
from planner.packing.optimiser.solve import never
from planner.packing.optimiser.stock import Stock, stock_of
from planner.packing.optimiser.stocked import stocked
from planner.packing.optimiser.threes import full_threes
from planner.packing.optimiser.whole import whole
from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem
from tests.planner.packing.optimiser.test_solve import random_problem
from tests.planner.packing_rules import broken_rules
from tests.searching import blocks, fresh

ENDLESS = 10**9
WORK = 0.2


def asked(problem: PackingProblem) -> Question:
    return question_of(problem, ROUND, never)


def priced(question: Question):
    return prices_of(question.yard, shares_of(question.yard, question.counts, question.room, 60))


def stock(problem: PackingProblem, below: float = ENDLESS, spare: float = 0.0) -> Stock:
    question = asked(problem)
    found = stock_of(question, priced(question), question.counts, question.room, below=below, work=WORK, spare=spare)
    assert found is not None
    return found


def groups_of(demands: Sequence[tuple[int, ...]], bins: Sequence[int] = (0,)) -> tuple[GroupRow, ...]:
    return tuple(GroupRow(demand, 1, frozenset(bins)) for demand in demands)


def test_numbers_of_machines_are_whole():
    # By hand: 2 x 5 of 8 fill 1.25 machines of the only kind.
    problem = PackingProblem(groups_of([(2,)] * 5), (BinRow((8,), 3),))
    assert stock(problem) == Stock({(0,): 2}, 6.0, is_cheapest=True, bound=6.0)


def test_pods_of_more_than_half_a_machine_have_one_each():
    # By hand: three pods of 5 are 15 of 16, but no two of them share a machine of 8.
    problem = PackingProblem(groups_of([(5,)] * 3), (BinRow((8,), 3),))
    assert stock(problem).bound == 9


def test_what_is_larger_than_all_that_is_left_beside_a_large_pod_has_another_machine():
    # By hand: 6, 6 and 3 are 15 of 16, but 3 fits beside neither 6 on a machine of 8.
    problem = PackingProblem(groups_of([(6,), (6,), (3,)]), (BinRow((8,), 3),))
    assert stock(problem).bound == 9


def test_one_pod_that_only_a_dear_machine_may_hold_pays_for_a_whole_one():
    problem = PackingProblem(
        (GroupRow((1,), 8, frozenset({0})), GroupRow((1,), 1, frozenset({1}))), (BinRow((8,), 3), BinRow((8,), 7))
    )
    assert stock(problem).bound == 10


def test_pods_that_ask_for_nothing_want_a_machine_all_the_same():
    problem = PackingProblem((GroupRow((0,), 5, frozenset({0})), GroupRow((3,), 1, frozenset({0}))), (BinRow((8,), 3),))
    assert stock(problem) == Stock({(0,): 1}, 3.0, is_cheapest=True, bound=3.0)


def test_where_no_stock_is_cheaper_the_answer_is_proven():
    problem = PackingProblem(groups_of([(5,)] * 3), (BinRow((8,), 3),))
    assert stock(problem, below=9) == Stock({}, 0.0, is_cheapest=True, bound=9)


def test_limits_leave_fewer_of_the_cheap():
    bins = (BinRow((8,), 3, limits=(0,)), BinRow((8,), 5))
    problem = PackingProblem(groups_of([(5,)] * 3, (0, 1)), bins, (2,))
    assert stock(problem).numbers == {(0,): 2, (1,): 1}


def test_prices_of_limits_prove_what_the_fluid_costs():
    # By hand: 2 of 4 pods fill the one cheap machine that may be bought, and the others one that costs 5.
    bins = (BinRow((8,), 3, limits=(0,)), BinRow((8,), 5))
    question = asked(PackingProblem(groups_of([(4,)] * 4, (0, 1)), bins, (1,)))
    assert bound_of_fluid(question.yard, question.counts, question.room) == pytest.approx(8)
    # With one limit more it is 3 + 3.
    assert bound_of_fluid(question.yard, question.counts, question.room + 1) == pytest.approx(6)


def test_machines_of_several_zones_are_one_kind_and_a_dearer_one_that_holds_no_more_is_none():
    bins = (BinRow((8,), 3), BinRow((8,), 3), BinRow((8,), 4), BinRow((9,), 4))
    question = asked(PackingProblem(groups_of([(5,), (5,)], (0, 1, 2, 3)), bins))
    assert kinds_of(question.yard, priced(question), question.counts, question.room).bins == ((0, 1), (3,))


def test_room_to_spare_proves_nothing():
    problem = PackingProblem(groups_of([(2,)] * 4), (BinRow((1000,), 3),))
    found = stock(problem, spare=0.01)
    assert found.bound == 0
    # 4 x 250 fill a machine of 1,000 to the last; with a hundredth to spare it takes two.
    full = PackingProblem(groups_of([(250,)] * 4), (BinRow((1000,), 3),))
    assert (stock(full).numbers, stock(full, spare=0.01).numbers) == ({(0,): 1}, {(0,): 2})


@pytest.mark.parametrize("seeds", [*blocks(range(60), 60), *blocks(fresh(60), 60)])
def test_no_stock_proves_more_than_the_optimum_costs(seeds):
    proofs = exact = 0
    for seed in seeds:
        drawn = random_problem(seed, most_groups=5, most_pods=5)
        paid = frozenset(b for b, one in enumerate(drawn.bins) if one.price)
        groups = tuple(GroupRow(g.demand, g.count, g.bins & paid, g.tier, g.per_node, g.apart) for g in drawn.groups)
        problem = PackingProblem(groups, drawn.bins, drawn.limits)
        if not all(group.bins for group in groups):
            continue
        optimum = whole(problem, pack(problem), 2.0, never)
        if optimum is None or not optimum.is_optimal or optimum.packing.unplaced:
            continue
        cost = problem.cost(optimum.packing.nodes)
        found = stock(problem)
        assert found.bound <= cost, seed
        assert found.cost <= cost, seed
        question = asked(problem)
        assert bound_of_fluid(question.yard, question.counts, question.room) <= cost * (1 + 1e-9), seed
        proofs, exact = proofs + 1, exact + (found.bound == cost)
    # It is worth its time: measured, three in four are as high as the optimum.
    assert exact > proofs / 2 > 0


def test_lots_of_many_groups_want_what_their_pods_want():
    problem = Case(Recipe(pods=1000, shapes=500, mix=True)).problem.packing
    question = asked(problem)
    kinds = kinds_of(question.yard, priced(question), question.counts, question.room)
    lots, is_each = lots_of(question.yard, kinds, question.counts)
    assert not is_each
    assert len(lots) < len(problem.groups) / 3 > MOST_LOTS
    assert sum(lot.count for lot in lots) == 1000
    wanted = np.sum([lot.count * lot.demand for lot in lots], axis=0)[:2]
    assert wanted == pytest.approx((question.counts @ question.yard.demand)[:2], rel=0.001)


def test_all_pods_find_a_place_on_the_very_machines_of_an_optimum():
    problem = Case(Recipe(pods=100, shapes=50, mix=True)).problem.packing
    question = asked(problem)
    prices = priced(question)
    found = stock(problem)
    answer = stocked(question, prices, found, question.counts, question.room, Pool())
    assert broken_rules(problem, packing := _packing(answer)) == []
    assert problem.cost(packing.nodes) == found.bound


def test_what_finds_no_place_in_a_stock_is_bought_for():
    problem = PackingProblem(groups_of([(5,)] * 3), (BinRow((8,), 3),))
    question = asked(problem)
    few = Stock({(0,): 2}, 6.0, is_cheapest=True, bound=0.0)
    answer = stocked(question, priced(question), few, question.counts, question.room, Pool())
    assert answer.count == 3
    assert not answer.missing.any()


def test_every_full_machine_is_found():
    question = asked(Case(Recipe(pods=60, shapes=None), Family.TRIPLETS).problem.packing)
    columns = full_threes(question, priced(question), question.counts)
    # By construction there is a way to fill 20 machines to the last byte: each pod is on at least one of those found.
    assert len(columns) >= 20
    assert {i for column in columns for i in column.groups} == set(range(60))
    capacity = question.yard.capacity[0]
    for column in columns:
        assert (question.yard.demand[list(column.groups)].sum(axis=0) <= capacity).all()


def test_three_pods_that_may_not_share_a_machine_are_no_full_machine():
    groups = (
        GroupRow((3,), 1, frozenset({0}), apart=frozenset({1})),
        GroupRow((3,), 1, frozenset({0}), apart=frozenset({0})),
        GroupRow((4,), 1, frozenset({0})),
    )
    question = asked(PackingProblem(groups, (BinRow((10,), 7),)))
    assert full_threes(question, priced(question), question.counts) == []
    free = asked(PackingProblem(groups_of([(3,), (3,), (4,)]), (BinRow((10,), 7),)))
    assert [column.groups for column in full_threes(free, priced(free), free.counts)] == [(0, 1, 2)]


def _packing(answer: Answer) -> Packing:
    return Packing(tuple(answer.packed()), {int(i): int(answer.missing[i]) for i in np.flatnonzero(answer.missing)})
