"""Karpenter's scheduler as a program: its set-ups, its failures, and (with Go) what it really decides."""

import json

import pytest

from benchmarks.catalogue import machines
from benchmarks.checker import check
from benchmarks.generator import Recipe, draw
from benchmarks.instance import DEDICATED, RESOURCES, capacity, problem_of_instance, spread_problem_of
from benchmarks.peers.karpenter_program import CHEAP, EXPERT, OPEN, SET_UPS, KarpenterFailed, run, set_ups
from benchmarks.problem_file import read, write
from planner.packing.problem import BinRow, GroupRow, PackingProblem
from planner.supply.sums.price_units import price_units
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import PeerProblem
from tests.benchmarks.problems import on_machines

ALL = machines()
NAMES = [machine.name for machine in ALL]
EVERYWHERE = frozenset(range(len(ALL)))


def asking(count: int, *, size: int = 2000, bins: frozenset[int] = EVERYWHERE, port: int | None = None, **changes):
    """Return pods of so many millicores and MiB of memory."""
    ports = [int(k == port) for k in range(len(RESOURCES) - 4)]
    fits = frozenset(b for b in bins if ALL[b].cpu >= size and ALL[b].memory >= size)
    return GroupRow((size, size, 0, 1, *ports), count, fits, **changes)


def of_groups(*groups: GroupRow) -> PeerProblem:
    bins = tuple(BinRow(capacity(machine), price_units(machine.price_per_hour)) for machine in ALL)
    return PeerProblem(PackingProblem(groups, bins), tuple(NAMES), RESOURCES, "EUR")


def decided(tmp_path, problem: PeerProblem, set_up: str = OPEN, seed: int = 0):
    path = tmp_path / "problem.json"
    write(path, problem, ALL, set_ups(problem, ALL))
    answer = run(path, problem, set_up, seed)
    check(answer.purchase)
    return answer


def test_each_set_up_has_the_types_that_it_is_named_for():
    only_dedicated = asking(1, bins=frozenset(b for b in EVERYWHERE if ALL[b].family == DEDICATED))
    found = set_ups(of_groups(asking(1), only_dedicated), ALL)
    assert tuple(found) == SET_UPS
    assert [(pool.types, pool.tolerating) for pool in found[OPEN]] == [(tuple(NAMES), None)]
    cheap, others = found[CHEAP]
    assert {name.rstrip("0123456789") for name in cheap.types} == {"cx", "cax"}
    assert sorted([*cheap.types, *others.types]) == sorted(NAMES)
    assert (cheap.tolerating, others.tolerating) == (None, (1,))
    # Source: the set-up of an expert as the measurement of the peers had it.
    best, rest, dedicated = found[EXPERT]
    assert (best.weight, best.types) == (50, ("cx32", "cax21", "cax31", "cax41"))
    assert (rest.weight, rest.types) == (10, ("cx22", "cx42", "cx52", "cax11"))
    assert dedicated.types == tuple(name for name in NAMES if name.startswith("ccx"))
    assert (best.tolerating, rest.tolerating, dedicated.tolerating) == (None, None, (1,))


def test_types_in_several_zones_are_named_once():
    instance = draw(Recipe(pods=20, shapes=5, zonal=True))
    pools = set_ups(problem_of_instance(instance), instance.machines)[OPEN]
    assert list(pools[0].types) == NAMES


def test_a_program_that_fails_is_quoted(tmp_path, monkeypatch):
    program = tmp_path / "karpenter"
    program.write_text("#!/bin/sh\necho 'karpenter: it cannot' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("benchmarks.peers.karpenter_program.binary", lambda module: program)
    with pytest.raises(KarpenterFailed, match="open pool, seed 3: karpenter: it cannot"):
        run(tmp_path / "problem.json", of_groups(asking(1)), OPEN, 3)


def test_it_is_given_file_set_up_and_seed(tmp_path, monkeypatch):
    words = {"machines": [], "seconds": 1.5, "peakBytes": 7, "versions": "v", "isCut": True}
    program = tmp_path / "karpenter"
    program.write_text(f"#!/bin/sh\necho \"$@\" > '{tmp_path}/given'\necho '{json.dumps(words)}'\n")
    program.chmod(0o755)
    monkeypatch.setattr("benchmarks.peers.karpenter_program.binary", lambda module: program)
    answer = run(tmp_path / "problem.json", of_groups(asking(2)), CHEAP, 3)
    assert (tmp_path / "given").read_text() == f"{tmp_path}/problem.json cx+cax 3\n"
    assert (answer.purchase.unplaced, answer.seconds, answer.peak_bytes, answer.is_cut) == (2, 1.5, 7, True)


@pytest.mark.e2e
@pytest.mark.nightly
@pytest.mark.timeout(600)
class TestWithGo:
    """What the real scheduler decides; building it takes about three minutes, once."""

    def test_it_is_the_version_that_is_written_down(self, tmp_path):
        answer = decided(tmp_path, of_groups(asking(1)))
        assert answer.versions.startswith("Karpenter v1.14.1 on go1.")
        assert answer.purchase.placed == 1

    @pytest.mark.parametrize("set_up", SET_UPS)
    @pytest.mark.parametrize("recipe", [Recipe(pods=100, shapes=50, mix=True), Recipe(pods=200, shapes=9, mix=True)])
    def test_its_plans_keep_every_rule_of_the_problem(self, tmp_path, recipe, set_up):
        problem = problem_of_instance(draw(recipe))
        assert decided(tmp_path, problem, set_up).purchase.placed == recipe.pods

    @pytest.mark.parametrize("set_up", SET_UPS)
    @pytest.mark.parametrize(
        "recipe", [Recipe(pods=200, shapes=20, mix=True, zonal=True), Recipe(pods=200, shapes=20, hosts=True)], ids=str
    )
    def test_it_spreads_pods_as_they_ask_for_it(self, tmp_path, recipe, set_up):
        instance = draw(recipe)
        problem, path = spread_problem_of(instance), tmp_path / "problem.json"
        write(path, problem, instance.machines, set_ups(problem, instance.machines))
        purchase = run(path, read(path), set_up, 0).purchase
        check(purchase)
        assert purchase.placed == recipe.pods

    def test_a_seed_decides_every_tie(self, tmp_path):
        problem = problem_of_instance(draw(Recipe(pods=100, shapes=50, mix=True)))
        first = [on_machines(decided(tmp_path, problem, seed=seed).purchase) for seed in range(4)]
        again = [on_machines(decided(tmp_path, problem, seed=seed).purchase) for seed in range(4)]
        assert first == again
        assert any(other != first[0] for other in first[1:])

    def test_without_ties_of_consequence_it_buys_what_its_published_rules_buy(self, tmp_path):
        # 1,000 pods of 50 shapes: the medians of the study's own run of it and of its rules are the same.
        problem = problem_of_instance(draw(Recipe(pods=1000, shapes=50)))
        assert decided(tmp_path, problem).purchase.cost_per_hour == karpenter(problem).cost_per_hour

    def test_pods_alone_and_in_pairs_stay_so(self, tmp_path):
        alone = decided(tmp_path, of_groups(asking(3, per_node=1), asking(5, per_node=2))).purchase
        assert sorted(counts.get(1, 0) for _, counts in on_machines(alone)) == [1, 2, 2]
        assert [counts.get(0) for _, counts in on_machines(alone)] == [1, 1, 1]

    def test_classes_that_keep_apart_and_host_ports_open_machines(self, tmp_path):
        apart = (asking(1, apart=frozenset({1})), asking(1, apart=frozenset({0})))
        assert decided(tmp_path, of_groups(*apart)).purchase.machines == 2
        assert decided(tmp_path, of_groups(asking(3, port=2))).purchase.machines == 3
        assert decided(tmp_path, of_groups(asking(1, port=2), asking(1, port=3))).purchase.machines == 1

    def test_a_pool_behind_a_taint_is_for_those_that_need_it(self, tmp_path):
        only_dedicated = asking(1, bins=frozenset(b for b in EVERYWHERE if ALL[b].family == DEDICATED))
        bought = decided(tmp_path, of_groups(asking(1), only_dedicated), CHEAP).purchase
        # The cheapest of each family that has 2,000 millicores and MiB.
        assert sorted(on_machines(bought)) == [("cax21", {0: 1}), ("ccx23", {1: 1})]

    def test_weights_come_before_prices(self, tmp_path):
        problem = of_groups(asking(1, size=500))
        assert on_machines(decided(tmp_path, problem).purchase)[0][0] in {"cx22", "cax11"}
        # Both cost less than any of the types that the expert puts first, of which cax21 is the cheapest.
        assert on_machines(decided(tmp_path, problem, EXPERT).purchase) == [("cax21", {0: 1})]
