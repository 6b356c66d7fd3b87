"""Limits of which machines take different amounts: the optimiser and its bound against all ways to pack a few pods."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from planner.packing.fallback.pack import pack
from planner.packing.optimiser.effort import ROUND
from planner.packing.optimiser.solve import solve
from planner.packing.problem import BinRow, GroupRow, PackedNode, Packing, PackingProblem
from tests.planner.brute_force import partitions
from tests.planner.packing.optimiser.test_solve import QUICK, random_problem, score
from tests.planner.packing_rules import broken_rules
from tests.searching import blocks, fresh


def weighted(problem: PackingProblem, seed: int) -> PackingProblem:
    """Return the problem with amounts that differ from machine to machine, and limits that bind now and then."""
    draw = random.Random(-seed - 1)
    bins = [replace(one, amounts=tuple(draw.choice((1, 2, 3, 4, 8, 17)) for _ in one.limits)) for one in problem.bins]
    return replace(problem, bins=tuple(bins), limits=tuple(draw.randint(0, 24) for _ in problem.limits))


def small_problem(seed: int) -> PackingProblem:
    """Return a problem of at most five pods."""
    draw = random.Random(seed)
    bins = tuple(
        BinRow(
            capacity=(size, draw.randint(size // 2, size)),
            price=0 if k == 0 and draw.random() < 0.3 else size * draw.randint(4, 7),
            limits=(0, 1),
            amounts=(size, draw.randint(1, 9)),
        )
        for k, size in enumerate(draw.sample((2, 3, 4, 6, 8, 12), draw.randint(1, 3)))
    )
    groups: list[GroupRow] = []
    left = 5
    while left:
        count = draw.randint(1, left)
        demand = (draw.randint(1, 6), draw.randint(0, 3))
        fits = [b for b, one in enumerate(bins) if all(d <= c for d, c in zip(demand, one.capacity, strict=True))]
        groups.append(GroupRow(demand, count, frozenset(fits), tier=draw.choice((0, 0, 10))))
        left -= count
    return PackingProblem(tuple(groups), bins, (draw.randint(2, 30), draw.randint(1, 25)))


def all_packings(problem: PackingProblem) -> Iterator[Packing]:
    """Yield every packing that keeps capacities and limits; the last part of the pods may have no place."""
    pods = [i for i, group in enumerate(problem.groups) for _ in range(group.count)]
    everything = Counter(pods)
    for parts in partitions([{"group": i, "n": n} for n, i in enumerate(pods)]):
        contents = [Counter(one["group"] for one in part) for part in parts]
        for left_out in (None, *range(len(contents))):
            kept = [one for n, one in enumerate(contents) if n != left_out]
            choices = [
                [b for b in range(len(problem.bins)) if all(b in problem.groups[i].bins for i in one)] for one in kept
            ]
            for bins in product(*choices):
                nodes = tuple(PackedNode(b, dict(one)) for b, one in zip(bins, kept, strict=True))
                taken = Counter[int]()
                for b in bins:
                    taken.update(dict(zip(problem.bins[b].limits, problem.bins[b].amounts, strict=True)))
                within = all(taken[k] <= most for k, most in enumerate(problem.limits))
                if within and all(holds(problem, node) for node in nodes):
                    placed = Counter(i for node in nodes for i in Counter(node.counts).elements())
                    yield Packing(nodes, dict(everything - placed))


def holds(problem: PackingProblem, node: PackedNode) -> bool:
    """Return whether the pods fit into the machine."""
    return all(
        sum(problem.groups[i].demand[r] * n for i, n in node.counts.items()) <= capacity
        for r, capacity in enumerate(problem.bins[node.bin].capacity)
    )


SEEDS = [
    *blocks(range(60), 20),
    *blocks(fresh(20), 20),
    *blocks(range(60, 1000), 100, pytest.mark.nightly),
]


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_few_pods_are_packed_as_well_as_any_way_packs_them(seeds):
    for seed in seeds:
        problem = small_problem(seed)
        best = min(score(problem, one) for one in all_packings(problem))
        answer = solve(problem, ROUND)
        assert broken_rules(problem, answer) == [], seed
        assert score(problem, answer) == best, seed
        assert answer.proven <= best[1] or answer.unplaced, seed
        fallback = pack(problem)
        assert broken_rules(problem, fallback) == [], seed
        assert score(problem, fallback) >= best, seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_what_is_proven_without_the_exact_search_is_no_more_than_the_cheapest_way_costs(seeds, monkeypatch):
    monkeypatch.setattr("planner.packing.optimiser.solve._FEW_OF_AMOUNTS", 0)
    for seed in seeds:
        problem = small_problem(seed)
        answer = solve(problem, replace(QUICK, proof=5))
        assert broken_rules(problem, answer) == [], seed
        same = [one for one in all_packings(problem) if one.unplaced == answer.unplaced]
        assert answer.proven <= min(problem.cost(one.nodes) for one in same), seed


@pytest.mark.parametrize("seeds", [*blocks(range(100), 50), *blocks(range(100, 1000), 100, pytest.mark.nightly)])
def test_random_problems_keep_limits_of_amounts(seeds, monkeypatch):
    monkeypatch.setattr("planner.packing.optimiser.solve._FEW_OF_AMOUNTS", 0)
    for seed in seeds:
        problem = weighted(random_problem(seed), seed)
        for packing in (solve(problem, QUICK), pack(problem)):
            assert broken_rules(problem, packing) == [], seed
            assert packing.proven <= problem.cost(packing.nodes), seed


def test_of_pods_without_a_place_the_amount_decides_and_not_the_number_of_machines():
    # Four cores are left: two machines of two, or none of eight. Both fit one machine of eight by their own size.
    pods = GroupRow((2,), 3, frozenset({0, 1}))
    bins = (BinRow((2,), 10, limits=(0,), amounts=(2,)), BinRow((8,), 11, limits=(0,), amounts=(8,)))
    answer = solve(PackingProblem((pods,), bins, (4,)))
    assert [node.bin for node in answer.nodes] == [0, 0]
    assert answer.unplaced == {0: 1}
