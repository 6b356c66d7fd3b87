"""A problem's file: the same problem again, and selectors that say of classes what their offerings say."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.catalogue import CatalogueMachine, machines
from benchmarks.generator import Recipe, draw
from benchmarks.instance import problem_of_instance, spread_problem_of
from benchmarks.peers.karpenter_program import set_ups
from benchmarks.problem_file import Inexpressible, ProblemPool, read, read_instance, write
from planner.packing.problem import GroupRow
from tests.benchmarks.problems import pods, problem

RECIPES = [
    Recipe(pods=100, shapes=50),
    Recipe(pods=100, shapes=50, mix=True),
    Recipe(pods=300, shapes=None, mix=True, seed=2),
    Recipe(pods=300, shapes=40, mix=True, zonal=True, seed=1),
]
LABELS = {"kubernetes.io/arch": "architecture", "topology.kubernetes.io/zone": "zone"}
FEW = tuple(machine for machine in machines() if machine.name in {"cx22", "cax11", "ccx13"})
"""In the order cx22, cax11, ccx13."""


def on_few(group: GroupRow):
    kinds = [(machine.name, (machine.cpu, machine.memory), "0.01") for machine in FEW]
    return problem([group], kinds)


def selector(tmp_path, group: GroupRow) -> dict[str, str]:
    path = tmp_path / "problem.json"
    write(path, on_few(group), FEW, {})
    return json.loads(path.read_text())["classes"][0]["selector"]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_what_is_read_is_what_was_written(tmp_path, recipe):
    instance = draw(recipe)
    given = problem_of_instance(instance)
    write(tmp_path / "problem.json", given, instance.machines, set_ups(given, instance.machines))
    assert read(tmp_path / "problem.json") == given


@pytest.mark.parametrize(
    "recipe",
    [Recipe(pods=300, shapes=40, mix=True, zonal=True, seed=1), Recipe(pods=300, shapes=40, hosts=True)],
    ids=str,
)
def test_of_pods_that_are_spread_the_file_says_how(tmp_path, recipe):
    instance = draw(recipe)
    given = spread_problem_of(instance)
    path = tmp_path / "problem.json"
    write(path, given, instance.machines, set_ups(given, instance.machines))
    known = read(path)
    assert (known.packing, known.zones) == (given.packing, given.zones)
    assert known.spreads.keys() == given.spreads.keys()
    for i, spread in known.spreads.items():
        assert (spread.zone_skew, spread.host_skew) == (given.spreads[i].zone_skew, given.spreads[i].host_skew)
        # By the selector of the file, which leaves the same offerings to buy and may leave more that are too small.
        assert spread.counted >= given.spreads[i].counted
    assert known.spreads
    of_file = read_instance(path)
    assert [shape.demand for shape in of_file.shapes] == [group.demand for group in given.packing.groups]
    assert spread_problem_of(of_file) == known


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_a_selector_leaves_exactly_the_offerings_of_a_class(tmp_path, recipe):
    instance = draw(recipe)
    write(tmp_path / "problem.json", problem_of_instance(instance), instance.machines, {})
    document = json.loads((tmp_path / "problem.json").read_text())
    for asked in document["classes"]:
        wanted = {LABELS.get(label, "family"): value for label, value in asked["selector"].items()}
        left = [
            number
            for number, offering in enumerate(document["offerings"])
            if wanted.items() <= offering.items()
            and all(amount <= offering["capacity"][resource] for resource, amount in asked["demand"].items())
        ]
        assert left == asked["offerings"]


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        ({0, 1, 2}, {}),
        ({0, 2}, {"kubernetes.io/arch": "amd64"}),
        ({1}, {"kubernetes.io/arch": "arm64"}),
        ({2}, {"benchmark.growth.dev/family": "ccx"}),
    ],
)
def test_a_selector_is_as_short_as_can_be(tmp_path, bins, expected):
    assert selector(tmp_path, pods(1, 100, 100, bins=bins)) == expected


def test_what_is_too_small_needs_no_selector(tmp_path):
    # More memory than cx22 and cax11 have.
    assert selector(tmp_path, pods(1, 100, 5000, bins={2})) == {}


def test_pools_stand_in_the_file_as_they_are(tmp_path):
    given = ProblemPool(name="dear", weight=3, types=("ccx13",), tolerating=(0,))
    write(tmp_path / "problem.json", on_few(pods(1, 1, 1, bins={0, 1, 2})), FEW, {"one": [given]})
    written = json.loads((tmp_path / "problem.json").read_text())["setUps"]
    assert written == {"one": [{"name": "dear", "weight": 3, "types": ["ccx13"], "tolerating": [0]}]}


def test_a_zone_is_named_where_there_is_one(tmp_path):
    zones = [
        CatalogueMachine(name="cx22", zone=zone, price_per_hour=Decimal(1), cpu=9, memory=9, disk=9, pods=9)
        for zone in "ab"
    ]
    given = problem([pods(1, 1, 1, bins={1})], [("cx22 a", (9, 9), "1"), ("cx22 b", (9, 9), "1")])
    write(tmp_path / "problem.json", given, zones, {})
    written = json.loads((tmp_path / "problem.json").read_text())
    assert written["classes"][0]["selector"] == {"topology.kubernetes.io/zone": "b"}
    assert [one["zone"] for one in written["offerings"]] == ["a", "b"]


def test_what_no_selector_says_is_refused(tmp_path):
    with pytest.raises(Inexpressible, match=r"class 0: no nodeSelector leaves \['cx22', 'cax11'\]"):
        selector(tmp_path, pods(1, 1, 1, bins={0, 1}))


def test_bounds_and_priorities_are_refused(tmp_path):
    group = pods(1, 1, 1, bins={0})
    with pytest.raises(Inexpressible, match="a bound"):
        write(tmp_path / "problem.json", problem([group], [("cx22", (9, 9), "1")], limit=1), FEW[:1], {})
    with pytest.raises(Inexpressible, match="a priority"):
        write(tmp_path / "problem.json", on_few(replace(group, tier=1)), FEW, {})
