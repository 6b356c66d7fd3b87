"""Which machines to buy in which zone: the bound is no more than the optimum, and what is bought holds all pods."""

from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.generator import Recipe, draw
from benchmarks.objects import pods_of, server_types_of
from planner.packing.optimiser import joint_stocked
from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.joint_stock import JointStock, joint_stock_of
from planner.packing.optimiser.joint_stocked import placed_on
from planner.packing.optimiser.part import is_divisible
from planner.packing.optimiser.solve import never, solve
from planner.packing.optimiser.whole import whole
from planner.packing.problem import PackingProblem
from planner.plan import plan
from tests.builders import kwok_node_class, node_pool
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing_rules import broken_rules
from tests.planner.scenes import Scene
from tests.searching import blocks

_SPREAD = 3
"""Of so many pods on, every second shape of the zonal round is spread over zones."""
_FEW = replace(ROUND, placing=100_000, improving=100_000, improving_a_machine=100_000, domains=0.0, moves=0.0)


def joint_problems(scene: Scene) -> list[PackingProblem]:
    """Return the problems of a round before any split, with what was known of them."""
    asked: list[PackingProblem] = []

    def packer(problem: PackingProblem):
        asked.extend([problem] if problem.known is not None else [])
        return solve(problem, _FEW)

    plan(scene.snapshot(), packer)
    return asked


def zonal(seed: int) -> Scene:
    """Return a round of 100 pods, half of whose shapes are spread over three zones."""
    drawn = draw(Recipe(pods=100, shapes=20, seed=seed, mix=True, zonal=True))
    shapes = tuple(
        replace(shape, is_spread=not shape.zone and shape.count >= _SPREAD and k % 2 == 0)
        for k, shape in enumerate(drawn.shapes)
    )
    instance = replace(drawn, shapes=shapes)
    types = [{"name": name} for name in sorted({machine.name for machine in instance.machines})]
    pods = [
        dict(each) | {"metadata": each["metadata"] | {"uid": f"uid-{each['metadata']['name']}"}}
        for each in pods_of(instance)
    ]
    pool = node_pool("default", types, limits={"max": 1000}, matchUnselectedPods=True)
    return Scene(pods=pods, nodes=[], pools=[pool], classes=[kwok_node_class(*server_types_of(instance))])


@pytest.mark.parametrize("seeds", [*blocks(range(60), 60), *blocks(range(60, 660), 100, pytest.mark.nightly)])
def test_the_bound_is_no_more_than_the_optimum(seeds):
    proven = 0
    for seed in seeds:
        for problem in joint_problems(ordinary(seed)):
            known = problem.known
            if known is None or known.unplaced or not is_divisible(problem):
                continue
            best = whole(problem, known, 2.0, never)
            below = problem.cost(known.nodes) + 1
            stock = joint_stock_of(problem, below=below, work=1.0, is_over=never)
            if best is not None and best.is_optimal and stock is not None:
                assert 0 <= stock.bound <= problem.cost(best.packing.nodes), seed
                proven += 1
    assert proven >= len(seeds) // 6


def test_what_is_bought_holds_all_pods_where_they_may_be():
    [problem, *_] = joint_problems(zonal(0))
    known = problem.known
    assert known is not None
    stock = joint_stock_of(problem, below=problem.cost(known.nodes), work=2.0, is_over=never)
    assert stock is not None
    assert stock.bound <= stock.cost < problem.cost(known.nodes)
    packing = placed_on(problem, stock.numbers, 2.0, never)
    assert packing is not None
    assert not broken_rules(problem, packing)
    assert problem.cost(packing.nodes) <= stock.cost


def test_machines_that_are_too_few_hold_not_all():
    [problem, *_] = joint_problems(zonal(0))
    assert placed_on(problem, {}, 1.0, never) is None


def test_machines_that_cost_nothing_and_do_not_hold_all_are_tried_with_room_to_spare(monkeypatch: pytest.MonkeyPatch):
    """All pods would fit onto Nodes that are there, were it not for rules between them."""
    [problem, *_] = joint_problems(zonal(0))
    known = problem.known
    assert known is not None
    spares: list[float] = []

    def free_stock(*_: object, spare: float, **__: object) -> JointStock:
        spares.append(spare)
        return JointStock({0: 1}, cost=0, bound=0)

    monkeypatch.setattr(joint_stocked, "joint_stock_of", free_stock)
    monkeypatch.setattr(joint_stocked, "placed_on", lambda *_: None)
    assert joint_stocked.by_joint_stock(problem, known, ROUND, never) is known
    assert spares == [0.0, 0.5]


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_pods_in_three_zones_end_near_what_is_proven(seed):
    made = plan(zonal(seed).snapshot(), solve)
    assert not made.unplaced
    assert made.lower_bound_per_hour <= made.cost_per_hour <= made.lower_bound_per_hour * Decimal("1.05")


def test_other_answers_are_another_search():
    [problem, *_] = joint_problems(zonal(0))
    moves = replace(ROUND, domains=0.0)
    first = solve(problem, moves)
    assert solve(problem, moves) == first
    others = [solve(replace(problem, answers=answers), moves).nodes for answers in (2, 3, 50)]
    assert any(nodes != first.nodes for nodes in others)
