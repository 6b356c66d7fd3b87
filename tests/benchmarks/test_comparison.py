"""The comparison for one problem: who is in it, what its figures mean, and that wrong plans are refused."""

from dataclasses import replace

import pytest

from benchmarks import comparison
from benchmarks.case import Case, Family
from benchmarks.checker import WrongPurchase
from benchmarks.comparison import KARPENTER, RULES, compare
from benchmarks.generator import Recipe
from benchmarks.growth_program import GrowthRun, growth_run
from planner.packing.optimiser.effort import Effort
from planner.packing.optimiser.solve import solve
from planner.packing.problem import Packing, PackingProblem
from planner.supply.sums.price_units import price_of
from simulator.peers.karpenter import karpenter

SMALL = Case(Recipe(pods=60, shapes=6))
SHORT = Effort(starts=2, placing=10_000, turns=1, improving=10_000, improving_a_machine=1_000, whole=0.01, proof=0)


@pytest.fixture
def in_place(monkeypatch):
    """Let the optimiser run in this process, and count how often."""
    asked: list[PackingProblem] = []

    def run(problem):
        asked.append(problem)
        return GrowthRun(solve(problem, SHORT), 1.5, 0.5, 1 << 20)

    monkeypatch.setattr(comparison, "growth_run", run)
    return asked


def test_a_run_in_a_process_of_its_own_is_the_same_plan():
    problem = SMALL.problem.packing
    run = growth_run(problem, SHORT)
    assert run.packing == solve(problem, SHORT)
    assert run.first_seconds > 0
    assert run.seconds > 0
    # With compiled code and OR-tools, but without what it was started by.
    assert 50 < run.peak_bytes / (1 << 20) < 1_000


def test_all_ways_place_all_pods_and_none_is_below_the_bound(in_place):
    found = compare(SMALL)
    assert in_place == [SMALL.problem.packing]
    assert list(found.rules) == list(RULES)
    assert {bought.placed for bought in (found.growth, *found.rules.values())} == {60}
    assert 0 < found.bound_per_hour <= found.growth.cost_per_hour
    assert found.over == pytest.approx(float(found.growth.cost_per_hour / found.bound_per_hour) - 1)
    assert found.bound_per_hour == price_of(found.run.packing.proven)
    for name, bought in found.rules.items():
        assert found.ratio(name) == pytest.approx(float(bought.cost_per_hour / found.growth.cost_per_hour))


def test_rules_get_the_problem_that_growth_gets(in_place):
    found = compare(SMALL)
    assert found.rules[KARPENTER[0]].packing == karpenter(SMALL.problem).packing
    cheap = {name for name, n in found.rules[KARPENTER[1]].counts.items() if n}
    assert all(name.startswith(("cx", "cax")) for name in cheap)


def test_costs_do_not_compare_where_not_as_many_pods_are_placed(in_place):
    found = compare(Case(Recipe(pods=200, shapes=9, limits=True), Family.ALL_SCARCE))
    assert found.growth.unplaced
    # Karpenter's rule looks at no limits, so it places all.
    assert found.rules[KARPENTER[0]].unplaced == 0
    assert found.ratio(KARPENTER[0]) is None


def test_where_shapes_are_many_slow_rules_are_left_out(in_place, monkeypatch):
    monkeypatch.setattr(comparison, "_MOST_GROUPS", 5)
    found = compare(SMALL)
    assert tuple(found.rules) == (*KARPENTER, "fallback")
    assert found.ratio("CA, price") is None


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda packing: Packing(packing.nodes[1:], proven=packing.proven), "are placed and 0 are not"),
        (lambda packing: replace(packing, proven=10**15), "less than the proven bound"),
    ],
)
def test_a_wrong_plan_is_refused(monkeypatch, spoil, told):
    def run(problem):
        return GrowthRun(spoil(solve(problem, SHORT)), 1.0, 1.0, 1)

    monkeypatch.setattr(comparison, "growth_run", run)
    with pytest.raises(WrongPurchase, match=f"60 x 6: Growth: .*{told}"):
        compare(SMALL)
