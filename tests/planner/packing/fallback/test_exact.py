"""The exact search for a few pods."""

from planner.packing.fallback import exact
from planner.packing.fallback.exact import cheapest_sharing
from planner.packing.index import ProblemIndex
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from tests.planner.catalogue import instance

BINS = (BinRow((2,), 10), BinRow((4,), 16))
BOTH = frozenset({0, 1})


def search(*groups, below=10**9):
    index = ProblemIndex(PackingProblem(tuple(groups), BINS))
    is_finished, nodes = cheapest_sharing(index, index.counts, below)
    return is_finished, None if nodes is None else index.cost(nodes)


def test_the_cheapest_way_is_found():
    assert search(GroupRow((1,), 3, BOTH)) == (True, 16)
    assert search(GroupRow((1,), 5, BOTH)) == (True, 26)
    assert search(GroupRow((3,), 2, frozenset({1})), GroupRow((1,), 2, BOTH)) == (True, 32)


def test_caps_and_pairs_that_keep_apart_are_kept():
    assert search(GroupRow((1,), 3, BOTH, per_node=1)) == (True, 30)
    one, other = GroupRow((1,), 1, BOTH, apart=frozenset({1})), GroupRow((1,), 1, BOTH, apart=frozenset({0}))
    assert search(one, other) == (True, 20)


def test_a_finished_search_without_an_answer_proves_that_nothing_is_cheaper():
    assert search(GroupRow((1,), 3, BOTH), below=16) == (True, None)
    assert search(GroupRow((1,), 3, BOTH), below=17) == (True, 16)


def test_too_many_pods_are_not_searched():
    assert search(GroupRow((1,), 17, BOTH)) == (False, None)


def test_a_search_that_takes_too_long_proves_nothing(monkeypatch):
    index = ProblemIndex(instance(10, 10, 1))
    assert cheapest_sharing(index, index.counts, 10**15)[0]
    monkeypatch.setattr(exact, "_MOST_VISITS", 20)
    is_finished, nodes = cheapest_sharing(index, index.counts, 10**15)
    assert not is_finished
    assert nodes is not None
