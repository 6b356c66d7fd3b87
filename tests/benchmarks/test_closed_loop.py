"""What comes of a plan: with reservations exactly the plan, without them whatever the scheduler makes of it."""

from dataclasses import replace

import pytest

from benchmarks import closed_loop
from benchmarks.catalogue import machines
from benchmarks.closed_loop import ClosedLoopRun, LeftOver, realise
from benchmarks.generator import Recipe, draw
from benchmarks.instance import Instance, InstanceShape
from benchmarks.objects import snapshot_of
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.solve import solve
from planner.plan import plan

ONE_BY_ONE, TOGETHER = ClosedLoopRun(reserves=True, together=False), ClosedLoopRun(reserves=True, together=True)
UNRESERVED = replace(ONE_BY_ONE, reserves=False)
RECIPES = [Recipe(pods=200, shapes=20, mix=mix, seed=seed) for mix in (False, True) for seed in range(4)]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("course", [ONE_BY_ONE, TOGETHER], ids=["one by one", "all at once"])
def test_what_is_reserved_costs_what_was_planned(recipe, course):
    snapshot = snapshot_of(draw(recipe))
    planned = plan(snapshot)
    found = realise(snapshot, pack, replace(course, seed=recipe.seed))
    assert found.cost_per_hour == found.planned_per_hour == planned.cost_per_hour
    assert found.ratio == 1
    assert found.machines == found.planned_machines == len(planned.requests)
    assert (found.left_over, found.astray, found.empty, found.rounds) == (0, 0, 0, 1)


def test_the_optimisers_plan_too():
    snapshot = snapshot_of(draw(Recipe(pods=400, shapes=20, mix=True)))
    found = realise(snapshot, solve, ONE_BY_ONE)
    assert found.cost_per_hour == found.planned_per_hour == plan(snapshot, solve).cost_per_hour
    assert (found.left_over, found.astray, found.empty, found.rounds) == (0, 0, 0, 1)


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_without_reservations_pods_are_planned_again_until_all_have_a_place(recipe):
    snapshot = snapshot_of(draw(recipe))
    found = realise(snapshot, pack, replace(UNRESERVED, seed=recipe.seed))
    print(
        f"{recipe}: {found.ratio:.3f} of the plan's cost in {found.rounds} rounds, {found.astray} pods elsewhere than "
        f"planned, {found.left_over} left over at first"
    )
    assert found.planned_per_hour == plan(snapshot).cost_per_hour
    # How much dearer it gets is the scheduler's doing.
    assert (found.rounds > 1) == (found.left_over > 0) == (found.machines + found.empty > found.planned_machines)


def test_a_pod_on_the_wrong_machine_leaves_another_one_out():
    # The smaller pod fits on the larger pod's machine, too.
    small, large = InstanceShape(1, 3000, 3000, 0, "amd64"), InstanceShape(1, 7000, 12000, 0, "amd64")
    small_machine, large_machine = (one for one in machines() if one.name in {"cx32", "cx42"})
    snapshot = snapshot_of(Instance((small, large), (small_machine, large_machine)))
    left_over = set()
    for seed in range(8):
        assert realise(snapshot, pack, replace(TOGETHER, seed=seed)).astray == 0
        found = realise(snapshot, pack, replace(TOGETHER, reserves=False, seed=seed))
        assert found.planned_machines == 2
        left_over.add(found.left_over)
        if found.left_over:
            # The smaller pod came up first, and went where more is free.
            assert (found.astray, found.machines, found.empty, found.rounds) == (2, 2, 1, 2)
            assert found.cost_per_hour == 2 * large_machine.price_per_hour
            assert found.bought_per_hour == found.cost_per_hour + small_machine.price_per_hour
        else:
            assert (found.astray, found.machines, found.empty, found.rounds) == (0, 2, 0, 1)
    assert left_over == {0, 1}


def test_the_same_seed_gives_the_same_course():
    snapshot = snapshot_of(draw(Recipe(pods=200, shapes=20)))
    found = [realise(snapshot, pack, replace(UNRESERVED, seed=seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_pods_that_no_machine_holds_are_told_of():
    impossible = snapshot_of(Instance((InstanceShape(3, 10**6, 100, 0), InstanceShape(1, 100, 100, 0)), machines()))
    with pytest.raises(LeftOver, match="no plan has a machine for 3 pods"):
        realise(impossible, pack, ONE_BY_ONE)


def test_a_loop_without_end_is_told_of(monkeypatch):
    monkeypatch.setattr(closed_loop, "_MOST_ROUNDS", 1)
    with pytest.raises(LeftOver, match="pods have no place after 1 rounds"):
        realise(snapshot_of(draw(Recipe(pods=200, shapes=20))), pack, UNRESERVED)
