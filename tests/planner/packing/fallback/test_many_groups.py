"""Very many classes are bought for in time, within the rules."""

from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from tests.planner.packing_rules import broken_rules

_VERY_MANY = 2_000
"""Groups, of which one bin and one order are tried for each."""


def distinct(pods: int, limits: tuple[int, ...] = ()) -> PackingProblem:
    """Return pods of which no two are alike, on two kinds of machine."""
    bins = (BinRow((4000, 4000), 5), BinRow((8000, 8000), 9, tuple(range(len(limits)))))
    groups = tuple(GroupRow((200 + k % 97, 100 + k // 97), 1, frozenset({0, 1}), tier=k % 2) for k in range(pods))
    return PackingProblem(groups, bins, limits)


def test_every_pod_gets_a_machine_that_is_well_filled():
    problem = distinct(_VERY_MANY)
    packing = pack(problem)
    assert broken_rules(problem, packing) == []
    assert not packing.unplaced
    asked = sum(group.demand[0] for group in problem.groups)
    there = sum(problem.bins[node.bin].capacity[0] for node in packing.nodes)
    assert there <= 1.1 * asked


def test_limits_hold_and_pods_of_the_higher_tier_come_first():
    problem = distinct(_VERY_MANY, (3,))
    problem = PackingProblem(
        tuple(GroupRow(g.demand, g.count, frozenset({1}), g.tier) for g in problem.groups), problem.bins, problem.limits
    )
    packing = pack(problem)
    assert broken_rules(problem, packing) == []
    assert len(packing.nodes) == 3
    assert all(problem.groups[i].tier == 1 for node in packing.nodes for i in node.counts)
