"""The look at a packing before anything is bought, against the checker of the tests, which shares no code with it."""

import random
from dataclasses import replace

import numpy as np
import pytest

from planner.packing.check import fault_of
from planner.packing.fallback.pack import pack
from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem
from tests.planner.catalogue import instance
from tests.planner.packing_rules import broken_rules

BOTH = frozenset({0, 1})
PROBLEM = PackingProblem(
    (
        GroupRow((2, 1), 3, BOTH, per_node=2),
        GroupRow((1, 1), 2, BOTH, apart=frozenset({2})),
        GroupRow((1, 0), 1, frozenset({1}), apart=frozenset({1})),
    ),
    (BinRow((4, 4), 10, (0,)), BinRow((8, 4), 18)),
    limits=(2,),
)


def packed(*nodes, **unplaced):
    return Packing(tuple(PackedNode(b, counts) for b, counts in nodes), {int(i[1:]): n for i, n in unplaced.items()})


def test_a_packing_that_keeps_every_rule_has_no_fault():
    right = packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}))
    assert broken_rules(PROBLEM, right) == []
    assert fault_of(PROBLEM, right) == ""
    assert fault_of(PROBLEM, packed((0, {0: 2}), (1, {2: 1}), g0=1, g1=2)) == ""
    assert fault_of(PackingProblem((), ()), Packing()) == ""


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [
        ("overfilled", packed((0, {0: 2, 1: 1}), (0, {0: 1, 1: 1}), (1, {2: 1}))),
        ("may not hold them", packed((0, {0: 2}), (0, {0: 1, 2: 1}), (1, {1: 2}))),
        ("not so many", packed((1, {0: 3}), (0, {1: 2}), (1, {2: 1}))),
        ("keep apart", packed((0, {0: 2}), (1, {0: 1, 1: 2, 2: 1}))),
        ("limit 0 is exceeded", packed((0, {0: 2}), (0, {0: 1}), (0, {1: 2}), (1, {2: 1}))),
        ("missing or too many", packed((0, {0: 2}), (0, {0: 1, 1: 2}))),
        ("missing or too many", packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}), g0=1)),
        ("missing or too many", packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}), g7=1)),
        ("no number above 0", packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}), g0=0)),
        ("of no kind", packed((2, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}))),
        ("of no kind", packed((-1, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}))),
        ("has no pods", packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {2: 1}), (1, {}))),
        ("pods of no group", packed((0, {0: 2}), (0, {0: 1, 1: 2}), (1, {3: 1}))),
        ("no number of them", packed((0, {0: 2, 1: 0}), (0, {0: 1, 1: 2}), (1, {2: 1}))),
        ("no number of them", packed((0, {0: np.int64(2)}), (0, {0: 1, 1: 2}), (1, {2: 1}))),
    ],
)
def test_each_broken_rule_is_told(fault, wrong):
    assert fault in fault_of(PROBLEM, wrong)


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_the_checker_of_the_tests(seed):
    draw = random.Random(seed)
    problem = instance(60, 12, seed, limits=True)
    right = pack(problem)
    assert fault_of(problem, right) == ""
    verdicts = set()
    for _ in range(200):
        changed = mutated(draw, problem, right)
        is_right = not broken_rules(problem, changed)
        assert (fault_of(problem, changed) == "") == is_right
        verdicts.add(is_right)
    assert verdicts == {True, False}


def mutated(draw, problem, packing):
    """The packing with a machine of another kind, or a pod on another machine, or without a place."""
    nodes = [PackedNode(node.bin, dict(node.counts)) for node in packing.nodes]
    k = draw.randrange(len(nodes))
    if draw.random() < 0.3:
        nodes[k] = replace(nodes[k], bin=draw.randrange(len(problem.bins)))
        return replace(packing, nodes=tuple(nodes))
    unplaced = dict(packing.unplaced)
    i = draw.choice([*nodes[k].counts])
    target = draw.choice([nodes[draw.randrange(len(nodes))].counts, unplaced])
    nodes[k].counts[i] -= 1
    target[i] = target.get(i, 0) + 1
    kept = (PackedNode(node.bin, {g: n for g, n in node.counts.items() if n}) for node in nodes)
    return replace(packing, nodes=tuple(node for node in kept if node.counts), unplaced=unplaced)
