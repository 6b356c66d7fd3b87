"""Small rounds whose pools and types have priorities, beside the best of all ways to plan them."""

import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from planner.model.plan import Plan
from planner.packing.choice.in_turns import in_turns
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.plan import plan
from tests.planner.packing.joint.cheapest import Best, cheapest, tiers_of
from tests.planner.packing.joint.compare import PACKERS
from tests.planner.packing.joint.contradictions import contradictions
from tests.planner.packing.joint.ordinary import ordinary
from tests.planner.packing.joint.small_round import SmallRound, small_round
from tests.planner.scenes import Scene
from tests.searching import blocks


def with_priorities(seed: int) -> Scene:
    """Return the ordinary round of this number with priorities of its pools and types."""
    draw, scene = random.Random(seed), ordinary(seed)
    for pool in scene.pools:
        if draw.random() < 0.5:
            pool["spec"]["priority"] = draw.choice((-5, 5))
        pool["spec"]["scaleUp"] = {"choose": draw.choice(("price", "priority", "priority", "priority"))}
        for entry in pool["spec"]["serverTypes"]:
            entry["priority"] = draw.choice((-10, 0, 10))
    return scene


def costs(given: SmallRound, made: Plan) -> tuple[tuple[int, ...], tuple[Decimal, ...]]:
    """Return pods without a place by priority, and the cost by tier, the lowest first."""
    priority = {name: w.priority for w in given.workloads for name in w.names}
    missing = Counter(priority[u.pod.partition("/")[2]] for u in made.unplaced)
    kinds = {kind.name: kind.tier for kind in given.kinds}
    of = Counter[tuple[int, int]]()
    paid = dict.fromkeys(tiers_of(given), Decimal(0))
    for r in made.requests:
        of[kinds[f"{r.pool}/{r.server_type}/{r.location}"]] += 1
        paid[kinds[f"{r.pool}/{r.server_type}/{r.location}"]] += r.price_per_hour
    return tuple(missing[p] for p in sorted({w.priority for w in given.workloads}, reverse=True)), tuple(paid.values())


def pairs(seeds: range) -> list[tuple[int, SmallRound, Best, Plan]]:
    found = []
    for seed in seeds:
        scene = with_priorities(seed)
        if contradictions(scene):
            continue
        given = small_round(scene)
        # A minimum is bought whatever its priority is: what else is bought then is no question of tiers alone.
        if given.missing:
            continue
        found.append((seed, given, cheapest(given), plan(scene.snapshot(), PACKERS["optimiser"])))
    return found


@pytest.mark.parametrize("seeds", blocks(range(150), 50))
def test_no_plan_buys_more_of_a_lower_priority_than_the_best_of_all_ways(seeds):
    rounds = pairs(seeds)
    assert len(rounds) > len(seeds) * 0.7
    worse = [
        (seed, costs(given, made), best.score, best.costs, best.told(given))
        for seed, given, best, made in rounds
        if costs(given, made) != (best.score[0], best.costs)
    ]
    assert not worse, f"{len(worse)} of {len(rounds)}\n" + "\n".join(map(str, worse))
    wrong = [seed for seed, _, best, made in rounds if made.lower_bound_per_hour > sum(best.costs, Decimal(0))]
    assert not wrong


def test_priorities_that_are_all_the_same_change_no_plan():
    for seed in range(60):
        scene, other = ordinary(seed), ordinary(seed)
        for pool in other.pools:
            pool["spec"] |= {"priority": 7, "scaleUp": {"choose": "priority"}}
        before, after = (plan(each.snapshot(), PACKERS["default"]) for each in (scene, other))
        assert (after.requests, after.placed, after.unplaced) == (before.requests, before.placed, before.unplaced), seed
        assert (after.lower_bound_per_hour, after.optimal) == (before.lower_bound_per_hour, before.optimal), seed


def test_one_turn_asks_the_packer_once_for_the_very_problem():
    problem = PackingProblem((GroupRow((1,), 3, frozenset({0, 1})),), (BinRow((2,), 5), BinRow((4,), 7)))
    asked: list[PackingProblem] = []

    def packer(one: PackingProblem):
        asked.append(one)
        return PACKERS["default"](one)

    in_turns(problem, packer)
    assert asked == [problem]
    in_turns(replace(problem, bins=(BinRow((2,), 5, turn=1), BinRow((4,), 7))), packer)
    assert len(asked) == 2
