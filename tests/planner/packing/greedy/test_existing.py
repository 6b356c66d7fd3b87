"""Filling what costs nothing: order of ranks, priorities, and the order of pods that saves most."""

from planner.packing.greedy.construct import Work
from planner.packing.greedy.existing import fill_free
from planner.packing.greedy.index import ProblemIndex
from planner.packing.problem import Bin, Group, PackingProblem


def filled(groups, bins, limits):
    problem = PackingProblem(tuple(groups), tuple(bins), tuple(limits))
    index = ProblemIndex(problem)
    work = Work(list(index.counts), list(limits), [])
    fill_free(index, work)
    return [(node.bin, dict(node.counts)) for node in work.nodes], work.left


def test_lower_ranks_are_filled_first():
    bins = [Bin((4,), 0, (0,), rank=3), Bin((4,), 0, (1,), rank=0), Bin((4,), 0, (2,), rank=1)]
    group = Group((1,), 6, frozenset({0, 1, 2}))
    assert filled([group], bins, (1, 1, 1)) == ([(1, {0: 4}), (2, {0: 2})], [0])


def test_higher_tiers_come_first():
    groups = [Group((1,), 4, frozenset({0}), tier=0), Group((1,), 3, frozenset({0}), tier=7)]
    assert filled(groups, [Bin((4,), 0, (0,))], (1,)) == ([(0, {1: 3, 0: 1})], [3, 0])


def test_of_the_ways_to_fill_the_one_that_saves_most_is_taken():
    # Two pods of 2 fill the free machine; the one of 3, placed first, would leave room for nothing.
    groups = [Group((3,), 1, frozenset({0, 1})), Group((2,), 2, frozenset({0, 1}))]
    nodes, left = filled(groups, [Bin((4,), 0, (0,)), Bin((4,), 100)], (1,))
    assert nodes == [(0, {1: 2})]
    assert left == [1, 0]


def test_a_bin_is_opened_as_often_as_its_limit_allows():
    nodes, left = filled([Group((1,), 9, frozenset({0}))], [Bin((2,), 0, (0,))], (3,))
    assert nodes == [(0, {0: 2})] * 3
    assert left == [3]
