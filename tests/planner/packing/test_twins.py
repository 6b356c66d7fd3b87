"""Kinds of machines that differ in nothing that matters are one to a packer."""

from dataclasses import replace

from planner.packing.problem import BinRow, GroupRow, Packing, PackingProblem, TopUp
from planner.packing.twins import without_twins

ONE, OTHER = BinRow((4, 8), 100, (0,)), BinRow((4, 8), 100, (1,))


def used(problem: PackingProblem) -> list[list[int]]:
    return [sorted(group.bins) for group in problem.groups]


def test_of_bins_that_are_alike_the_first_is_used():
    groups = (GroupRow((1, 1), 3, frozenset({0, 1, 2})), GroupRow((2, 1), 1, frozenset({0, 1, 2})))
    problem = PackingProblem(groups, (ONE, ONE, OTHER), (5, 5))
    made = without_twins(problem)
    assert used(made) == [[0, 2], [0, 2]]
    assert made.bins == problem.bins
    assert without_twins(made) == made


def test_one_that_a_group_may_not_use_is_another_one():
    groups = (GroupRow((1, 1), 3, frozenset({0, 1, 2})), GroupRow((2, 1), 1, frozenset({2})))
    assert used(without_twins(PackingProblem(groups, (ONE, ONE, ONE), (5,)))) == [[0, 2], [2]]


def test_one_that_counts_towards_a_minimum_is_another_one():
    problem = PackingProblem((GroupRow((1, 1), 3, frozenset({0, 1})),), (ONE, ONE), (5,))
    counted = replace(problem, top_ups=(TopUp(frozenset({1}), 1, 100),))
    assert used(without_twins(counted)) == [[0, 1]]


def test_the_wider_problem_has_twins_of_its_own():
    """Pods that a split ties to a zone each tell zones apart; before it they did not."""
    groups = (GroupRow((1, 1), 2, frozenset({0})), GroupRow((1, 1), 1, frozenset({1})))
    wider = PackingProblem((GroupRow((1, 1), 3, frozenset({0, 1})),), (ONE, ONE), (5,))
    made = without_twins(PackingProblem(groups, (ONE, ONE), (5,), relaxed=wider))
    assert used(made) == [[0], [1]]
    assert made.relaxed is not None
    assert used(made.relaxed) == [[0]]


def test_where_rules_tell_domains_apart_nothing_is_left_out():
    known = Packing()
    problem = PackingProblem((GroupRow((1, 1), 3, frozenset({0, 1})),), (ONE, ONE), (5,), known=known)
    assert without_twins(problem) is problem
