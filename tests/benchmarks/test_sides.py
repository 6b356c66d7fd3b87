"""All sides on one file: how often each plans, what is told of it, and that no wrong plan is told of."""

import json
from dataclasses import replace

import pytest

from benchmarks import sides
from benchmarks.answer import PackingAnswer
from benchmarks.checker import WrongPurchase
from benchmarks.generator import Recipe
from benchmarks.problem_file import read
from benchmarks.sides import SideEffort, measure
from planner.packing.cost import lower_bound
from planner.packing.problem import PackedNode, Packing
from planner.supply.sums.price_units import price_of
from simulator.peers.cluster_autoscaler import cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import Purchase

RECIPE = Recipe(pods=60, shapes=6)
TWICE = SideEffort(repetitions=2)
WAYS = [
    "Growth",
    "Karpenter, open pool",
    "Karpenter, cx+cax",
    "Karpenter, an expert's pools",
    "Cluster Autoscaler's rules, price",
    "Cluster Autoscaler's rules, least-waste",
    "Cluster Autoscaler's rules, most-pods",
]


class Programs:
    """Stand-ins for the programs of both sides, which answer by Karpenter's published rules."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.changes = {}

    def growth(self, path, problem) -> PackingAnswer:
        assert read(path) == problem
        return self._answer("Growth", problem, karpenter(problem, preferred=("cx", "cax")))

    def karpenter(self, path, problem, set_up, seed) -> PackingAnswer:
        self.asked.append((set_up, seed))
        assert read(path) == problem
        assert set_up in json.loads(path.read_text())["setUps"]
        return self._answer(set_up, problem, karpenter(problem))

    def _answer(self, who, problem, purchase) -> PackingAnswer:
        purchase = self.changes.get(who, lambda unchanged: unchanged)(purchase)
        return PackingAnswer(
            purchase=Purchase(problem, purchase.packing), seconds=2.0, peak_bytes=5, is_cut=True, versions=who
        )


@pytest.fixture
def programs(monkeypatch) -> Programs:
    stand_ins = Programs()
    monkeypatch.setattr(sides.growth_program, "run", stand_ins.growth)
    monkeypatch.setattr(sides.karpenter_program, "run", stand_ins.karpenter)
    return stand_ins


def test_all_sides_plan_the_same_file_and_their_plans_are_told(programs):
    row = measure(RECIPE, TWICE)
    assert [way.side for way in row.ways] == WAYS
    assert [len(way.runs) for way in row.ways] == [2, 2, 2, 2, 1, 1, 1]
    assert [way.is_program for way in row.ways] == [True] * 4 + [False] * 3
    assert programs.asked == [(set_up, seed) for set_up in sides.karpenter_program.SET_UPS for seed in (0, 1)]
    problem = sides.problem_of_instance(sides.draw(RECIPE))
    bound = price_of(lower_bound(problem.packing, [group.count for group in problem.packing.groups]))
    assert {run.least_per_hour for way in row.ways for run in way.runs} == {bound}
    opened = row.ways[1].runs[0]
    assert (opened.placed, opened.seconds, opened.peak_bytes, opened.is_cut) == (60, 2.0, 5, True)
    assert row.ways[1].versions == "open pool"
    assert opened.cost_per_hour == karpenter(problem).cost_per_hour
    assert row.ways[5].runs[0].cost_per_hour == cluster_autoscaler(problem, expander="least-waste").cost_per_hour
    assert opened.over == float(opened.cost_per_hour / bound) - 1


def test_a_bound_that_growth_has_proven_counts_if_it_is_higher(programs):
    problem = sides.problem_of_instance(sides.draw(RECIPE))
    proven = lower_bound(problem.packing, [group.count for group in problem.packing.groups]) + 1
    programs.changes["Growth"] = lambda purchase: replace(purchase, packing=replace(purchase.packing, proven=proven))
    row = measure(RECIPE, SideEffort(repetitions=1))
    assert {run.least_per_hour for way in row.ways for run in way.runs} == {price_of(proven)}


def test_a_plan_that_leaves_pods_out_has_the_bound_of_those_that_it_places(programs):
    def cut(purchase):
        first, *others = purchase.packing.nodes
        return replace(purchase, packing=Packing(tuple(others), dict(first.counts)))

    programs.changes["open pool"] = cut
    row = measure(RECIPE, SideEffort(repetitions=1))
    opened, cheap = row.ways[1].runs[0], row.ways[2].runs[0]
    assert opened.placed < 60 == cheap.placed
    assert opened.least_per_hour < cheap.least_per_hour
    assert row.missing(row.ways[1]) == 60 - opened.placed
    assert row.over_growth(row.ways[1]) is None


def test_no_plan_is_told_of_that_breaks_a_rule(programs):
    def too_much(purchase):
        first, *others = purchase.packing.nodes
        return replace(purchase, packing=Packing((PackedNode(first.bin, {0: 999}), *others)))

    programs.changes["cx+cax"] = too_much
    with pytest.raises(WrongPurchase, match=r"60 pods, 6 shapes, seed 0: Karpenter, cx\+cax: \d+ rules are broken"):
        measure(RECIPE, TWICE)


def test_no_plan_is_told_of_that_beats_the_bound(programs):
    programs.changes["Growth"] = lambda purchase: replace(
        purchase, packing=replace(purchase.packing, proven=10 * 10**9)
    )
    with pytest.raises(WrongPurchase, match="less than the lower bound 10"):
        measure(RECIPE, TWICE)


@pytest.mark.parametrize(
    ("pods", "seconds", "runs"),
    [
        # Few pods: always all repetitions, however long each takes.
        (1000, 100.0, 5),
        (1001, 100.0, 1),
        # The run in which the patience of 30 s ends is the last one.
        (1001, 20.0, 2),
        (1001, 1.0, 5),
    ],
)
def test_slow_plans_of_many_pods_are_made_less_often(pods, seconds, runs):
    recipe, effort, answers = Recipe(pods=pods, shapes=1), SideEffort(repetitions=5, patience=30), []
    while not effort.is_spent(recipe, answers):
        answers.append(PackingAnswer(purchase=None, seconds=seconds, peak_bytes=0))
    assert len(answers) == runs
