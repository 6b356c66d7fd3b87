"""Filling what costs nothing: order of ranks, priorities, and the order of pods that saves most."""

from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackingProblem


def filled(groups, bins, limits):
    """Return the free machines with their pods, and the number of pods of each group that are not on them."""
    packing = pack(PackingProblem(tuple(groups), tuple(bins), tuple(limits)))
    free = [node for node in packing.nodes if not bins[node.bin].price]
    left = [group.count - sum(node.counts.get(i, 0) for node in free) for i, group in enumerate(groups)]
    return [(node.bin, dict(node.counts)) for node in free], left


def test_lower_ranks_are_filled_first():
    bins = [BinRow((4,), 0, (0,), rank=3), BinRow((4,), 0, (1,), rank=0), BinRow((4,), 0, (2,), rank=1)]
    group = GroupRow((1,), 6, frozenset({0, 1, 2}))
    assert filled([group], bins, (1, 1, 1)) == ([(1, {0: 4}), (2, {0: 2})], [0])


def test_higher_tiers_come_first():
    groups = [GroupRow((1,), 4, frozenset({0}), tier=0), GroupRow((1,), 3, frozenset({0}), tier=7)]
    assert filled(groups, [BinRow((4,), 0, (0,))], (1,)) == ([(0, {1: 3, 0: 1})], [3, 0])


def test_of_the_ways_to_fill_the_one_that_saves_most_is_taken():
    # Two pods of 2 fill the free machine; the one of 3, placed first, would leave room for nothing.
    groups = [GroupRow((3,), 1, frozenset({0, 1})), GroupRow((2,), 2, frozenset({0, 1}))]
    nodes, left = filled(groups, [BinRow((4,), 0, (0,)), BinRow((4,), 100)], (1,))
    assert nodes == [(0, {1: 2})]
    assert left == [1, 0]


def test_a_bin_is_opened_as_often_as_its_limit_allows():
    nodes, left = filled([GroupRow((1,), 9, frozenset({0}))], [BinRow((2,), 0, (0,))], (3,))
    assert nodes == [(0, {0: 2})] * 3
    assert left == [3]
