"""No rule overfills a machine, breaks a constraint, places a pod twice or beats the planner's bound."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.packing.cost import lower_bound
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_of
from simulator.peers.cluster_autoscaler import EXPANDERS, cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import PeerProblem, Purchase
from tests.planner.packing_rules import broken_rules
from tests.searching import searching

RANDOM = searching(250)
NAMES = ("a1", "a2", "b1", "b2")


@st.composite
def problems(draw: st.DrawFn) -> PeerProblem:
    """Draw few machines and pods with all that a problem may hold."""
    prices = st.sampled_from((0, 3, 5, 5, 8, 13))
    capacity = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1))
    limits = draw(st.lists(st.integers(0, 4), max_size=2))
    all_limits = range(len(limits))
    bins = tuple(
        BinRow(draw(capacity), draw(prices), tuple(k for k in all_limits if draw(st.booleans())))
        for _ in range(draw(st.integers(1, len(NAMES))))
    )
    size = draw(st.integers(1, 6))
    pairs = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=3))
    groups = []
    for i in range(size):
        demand = (draw(st.integers(0, 6)), draw(st.integers(1, 6)), draw(st.sampled_from((0, 0, 0, 1))))
        allowed = draw(st.frozensets(st.integers(0, len(bins) - 1), min_size=1))
        fitting = frozenset(b for b in allowed if all(d <= c for d, c in zip(demand, bins[b].capacity, strict=True)))
        apart = frozenset(k for pair in pairs if i in pair for k in pair) - {i}
        per_node = draw(st.sampled_from((None, None, 1, 2)))
        groups.append(GroupRow(demand, draw(st.integers(1, 9)), fitting, 0, per_node, apart))
    packing = PackingProblem(tuple(groups), bins, tuple(limits))
    return PeerProblem(packing, NAMES[: len(bins)], ("cpu", "memory", "port"), "EUR")


def without_limits(problem: PeerProblem) -> PeerProblem:
    packing = problem.packing
    bins = tuple(replace(one, limits=()) for one in packing.bins)
    return replace(problem, packing=replace(packing, bins=bins, limits=()))


def check(problem: PeerProblem, bought: Purchase) -> None:
    assert broken_rules(problem.packing, bought.packing) == []
    placed = [group.count - bought.packing.unplaced.get(i, 0) for i, group in enumerate(problem.packing.groups)]
    assert bought.placed == sum(placed)
    assert bought.cost_per_hour >= price_of(lower_bound(problem.packing, placed))


@RANDOM
@given(problems(), st.sampled_from([(), ("a",), ("a", "b1")]))
def test_karpenter(problem: PeerProblem, preferred: tuple[str, ...]):
    bought = karpenter(problem, preferred=preferred)
    # It does not look at bounds on the number of machines, so it places all pods that fit somewhere.
    check(without_limits(problem), bought)
    assert bought.packing.unplaced == {i: g.count for i, g in enumerate(problem.packing.groups) if not g.bins}


@pytest.mark.parametrize("expander", EXPANDERS)
@RANDOM
@given(problem=problems())
def test_cluster_autoscaler(expander, problem: PeerProblem):
    bought = cluster_autoscaler(problem, expander=expander)
    check(problem, bought)
    # What is left fits nothing, or only machines of which no more may be bought.
    used = [0] * len(problem.packing.limits)
    for machine in bought.packing.nodes:
        for limit in problem.packing.bins[machine.bin].limits:
            used[limit] += 1
    for i in bought.packing.unplaced:
        for b in problem.packing.groups[i].bins:
            assert any(used[k] == problem.packing.limits[k] for k in problem.packing.bins[b].limits)
