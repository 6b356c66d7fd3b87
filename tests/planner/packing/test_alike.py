"""Rows of pods that are alike are one to a packer, and each has its own pods again in what it planned."""

from hypothesis import given
from hypothesis import strategies as st

from planner.packing.alike import as_one, packed_as_one
from planner.packing.check import fault_of
from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem
from tests.searching import searching

ANY = frozenset({0, 1})
BINS = (BinRow((4, 8), 100, (0,)), BinRow((8, 16), 190, (1,)))


def test_rows_that_differ_in_their_number_alone_are_one():
    rows = (
        GroupRow((1, 1), 3, ANY),
        GroupRow((2, 1), 1, ANY),
        GroupRow((1, 1), 4, ANY),
        GroupRow((1, 1), 5, ANY, tier=2),
        GroupRow((1, 1), 6, frozenset({0})),
    )
    made = as_one(PackingProblem(rows, BINS, (5, 5)))
    assert made.members == ((0, 2), (1,), (3,), (4,))
    assert [row.count for row in made.problem.groups] == [7, 1, 5, 6]


def test_rows_with_rules_of_their_own_stay_and_name_each_other_by_their_new_positions():
    rows = (
        GroupRow((1, 1), 3, ANY),
        GroupRow((1, 1), 3, ANY),
        GroupRow((1, 1), 2, ANY, per_node=1),
        GroupRow((1, 1), 2, ANY, per_node=1),
        GroupRow((1, 1), 1, ANY, apart=frozenset({5})),
        GroupRow((1, 1), 1, ANY, apart=frozenset({4})),
    )
    made = as_one(PackingProblem(rows, BINS, (5, 5)))
    assert made.members == ((0, 1), (2,), (3,), (4,), (5,))
    assert [row.apart for row in made.problem.groups] == [frozenset()] * 3 + [frozenset({4}), frozenset({3})]


def test_the_pods_of_the_first_row_come_first():
    problem = PackingProblem(
        (GroupRow((1, 1), 3, ANY), GroupRow((2, 2), 1, ANY), GroupRow((1, 1), 4, ANY)), BINS, (5, 5)
    )
    answer = Packing((PackedNode(0, {0: 4}), PackedNode(1, {0: 2, 1: 1})), {0: 1}, proven=7)
    made = packed_as_one(problem, lambda _: Packing(answer.nodes, answer.unplaced, 7, (answer,)))
    nodes = (PackedNode(0, {0: 3, 2: 1}), PackedNode(1, {2: 2, 1: 1}))
    assert (made.nodes, made.unplaced, made.proven) == (nodes, {2: 1}, 7)
    assert [(other.nodes, other.unplaced) for other in made.others] == [(nodes, {2: 1})]


def test_a_problem_with_rules_between_machines_is_packed_as_it_is():
    known = Packing(unplaced={0: 3, 1: 3})
    problem = PackingProblem((GroupRow((1, 1), 3, ANY), GroupRow((1, 1), 3, ANY)), BINS, (5, 5), known=known)
    asked: list[PackingProblem] = []
    assert packed_as_one(problem, lambda one: asked.append(one) or known) is known
    assert asked == [problem]


ROWS = st.lists(
    st.builds(
        GroupRow,
        demand=st.sampled_from([(1, 1), (2, 3), (4, 1)]),
        count=st.integers(1, 6),
        bins=st.sampled_from([ANY, frozenset({1})]),
        tier=st.sampled_from([0, 0, 1]),
        per_node=st.sampled_from([None, None, None, 1]),
    ),
    min_size=1,
    max_size=12,
)


@searching(200)
@given(ROWS, st.integers(0, 6))
def test_what_is_dealt_keeps_all_rules_and_costs_what_it_cost_as_one(rows: list[GroupRow], most: int):
    problem = PackingProblem(tuple(rows), BINS, (most, most))
    joined = as_one(problem)
    together, made = pack(joined.problem), packed_as_one(problem, pack)
    assert fault_of(problem, made) == ""
    assert problem.cost(made.nodes) == problem.cost(together.nodes)
    left = {
        k: n for k, rows_of_one in enumerate(joined.members) if (n := sum(made.unplaced.get(i, 0) for i in rows_of_one))
    }
    assert left == dict(together.unplaced)
