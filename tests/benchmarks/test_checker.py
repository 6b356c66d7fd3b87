"""The checker of purchases: silent on right ones, a sentence for each rule, and of one mind with another checker."""

from dataclasses import replace

import pytest

from benchmarks.checker import WrongPurchase, check, violations
from planner.packing.problem import PackedNode, Packing
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import ClassSpread, Purchase
from tests.benchmarks.problems import KNOWN, known, pods, problem
from tests.planner.packing_rules import broken_rules

GROUPS = [
    pods(4, 1, 1, bins={0, 1}),
    pods(2, 1, 1, bins={0, 1}, per_node=1),
    pods(1, 1, 1, bins={0, 1}, apart=frozenset({3})),
    pods(1, 1, 1, bins={1}, apart=frozenset({2})),
]
GIVEN = problem(GROUPS, [("small", (2, 2), "1"), ("large", (4, 4), "2")], limit=4)
RIGHT = [(1, {0: 3, 1: 1}), (0, {0: 1, 1: 1}), (0, {2: 1}), (1, {3: 1})]


def bought(machines: list[tuple[int, dict[int, int]]], unplaced: dict[int, int] | None = None) -> Purchase:
    return Purchase(GIVEN, Packing(tuple(PackedNode(b, counts) for b, counts in machines), unplaced or {}))


def told(purchase: Purchase) -> list[str]:
    found = list(violations(purchase))
    assert bool(found) == bool(broken_rules(purchase.problem.packing, purchase.packing))
    return found


def test_a_right_purchase_is_right():
    assert told(bought(RIGHT)) == []
    assert told(bought(RIGHT[:3], {3: 1})) == []
    check(bought(RIGHT))


@pytest.mark.parametrize(
    ("machines", "unplaced", "sentence"),
    [
        ([(0, {0: 3, 1: 1}), *RIGHT[1:]], {}, "machine 0, small: 4 of cpu is taken, and 2 is there"),
        ([(1, {0: 2, 1: 2}), (0, {0: 2}), *RIGHT[2:]], {}, "machine 0, large: 2 pods of class 1, of which 1"),
        ([*RIGHT[:2], (1, {2: 1, 3: 1})], {}, "machine 2, large: classes 2 and 3 may not share a machine"),
        ([*RIGHT[:3], (0, {3: 1})], {}, "machine 3, small: class 3 may not run there"),
        ([*RIGHT, (0, {0: 1})], {}, "class 0 has 4 pods; 5 are placed and 0 are not"),
        ([*RIGHT[:3]], {}, "class 3 has 1 pods; 0 are placed and 0 are not"),
        (RIGHT, {3: 1}, "class 3 has 1 pods; 1 are placed and 1 are not"),
        ([*RIGHT[:2], (0, {2: 1, 0: 0}), RIGHT[3]], {}, "machine 2, small: 0 pods of class 0"),
        (
            [(0, {0: 2}), (0, {0: 2, 1: 0}), *RIGHT[2:], (0, {1: 1}), (0, {1: 1})],
            {},
            "machines take 6 of bound 0",
        ),
    ],
)
def test_each_rule_has_its_sentence(machines, unplaced, sentence):
    purchase = bought(machines, unplaced)
    assert any(one.startswith(sentence) for one in told(purchase)), list(violations(purchase))
    with pytest.raises(WrongPurchase, match="broken, first: "):
        check(purchase)


@pytest.mark.parametrize("name", KNOWN)
def test_what_a_rule_buys_for_the_study_is_right_and_one_pod_more_is_not(name):
    purchase = karpenter(known(name))
    assert told(purchase) == []
    first, *others = purchase.packing.nodes
    one_more = {i: n + 1 for i, n in first.counts.items()}
    assert told(Purchase(purchase.problem, Packing((PackedNode(first.bin, one_more), *others))))


ZONAL = replace(
    problem([pods(6, 1, 1, bins={0, 1, 2})], [(f"m {zone}", (8, 8), "1") for zone in "abc"]),
    zones=("a", "b", "c"),
)
EVERYWHERE = frozenset({0, 1, 2})


@pytest.mark.parametrize(
    ("spread", "machines", "sentence"),
    [
        (ClassSpread(zone_skew=1, counted=EVERYWHERE), [(0, 2), (1, 2), (2, 2)], None),
        (ClassSpread(zone_skew=1, counted=EVERYWHERE), [(0, 2), (1, 1), (2, 3)], "3 pods in c and 1 in the emptiest"),
        # Fewer zones than minDomains: the emptiest counts as 0.
        (ClassSpread(zone_skew=3, counted=EVERYWHERE), [(0, 3), (1, 3)], None),
        (ClassSpread(zone_skew=2, counted=EVERYWHERE), [(0, 3), (1, 3)], "3 pods in a and 0 in the emptiest"),
        # Machines fill together: what counts is the emptiest of those that the class may use.
        (ClassSpread(host_skew=1, counted=EVERYWHERE), [(0, 3), (0, 3)], None),
        (ClassSpread(host_skew=1, counted=EVERYWHERE), [(0, 4), (0, 2)], "4 pods in machine 0 and 2 in the emptiest"),
        (ClassSpread(host_skew=1, counted=EVERYWHERE), [(0, 3), (0, 3), (1, 0)], "3 pods in machine 0 and 0 in the"),
        (ClassSpread(host_skew=1, counted=frozenset({0})), [(0, 3), (0, 3), (1, 0)], None),
    ],
)
def test_pods_are_spread_as_the_scheduler_counts_them(spread, machines, sentence):
    # Source: Kubernetes docs, "Pod Topology Spread Constraints": the global minimum, minDomains, nodeAffinityPolicy.
    given = replace(ZONAL, spreads={0: spread})
    nodes = tuple(PackedNode(b, {0: n} if n else {}) for b, n in machines)
    broken = list(violations(Purchase(given, Packing(nodes))))
    assert bool(broken) == (sentence is not None)
    assert sentence is None or f"class 0: {sentence}" in broken[0]
