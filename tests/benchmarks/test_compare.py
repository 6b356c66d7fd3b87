"""`make bench`: one table an instance, and bad input told in one line."""

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.compare import RECIPES, main
from benchmarks.comparison import compare
from benchmarks.generator import BadRecipe, Recipe
from tests.benchmarks.problems import KNOWN

ROOT = Path(__file__).resolve().parents[2]
PEERS = [
    "Karpenter's rules, one pool of all types",
    "Karpenter's rules, one pool of cx and cax",
    "Cluster Autoscaler's rules, price",
    "Cluster Autoscaler's rules, least-waste",
    "Cluster Autoscaler's rules, most-pods",
]


def test_it_compares_the_instances_of_the_study():
    assert list(RECIPES) == list(KNOWN.values())


def test_what_the_planner_judges_is_planned_from_objects():
    found = compare(Recipe(pods=60, shapes=6))
    assert found.unjudged == 0
    assert [line.who for line in found.lines] == ["Growth's plan, from objects", *PEERS]
    assert {line.placed for line in found.lines} == {60}
    growth = found.lines[0]
    assert 0 < found.lower_bound_per_hour <= growth.cost_per_hour
    assert growth.cost_per_hour <= min(line.cost_per_hour for line in found.lines)
    assert found.ratio(growth.cost_per_hour) == 1
    assert found.ratio(2 * growth.cost_per_hour) == 2


def test_what_it_does_not_judge_is_packed_from_numbers_and_said(monkeypatch):
    # Every constraint of the study is judged; one that is not would be told of by this number.
    monkeypatch.setattr("benchmarks.comparison.unjudged_pods", lambda instance: 4)
    found = compare(Recipe(pods=60, shapes=6, mix=True, zonal=True, seed=3))
    assert found.unjudged == 4
    assert [line.who for line in found.lines] == ["Growth's packer, from numbers", *PEERS]
    assert {line.placed for line in found.lines} == {60}
    assert 0 < found.lower_bound_per_hour <= min(line.cost_per_hour for line in found.lines)


def test_a_table_for_each_seed_and_the_means_of_all(capsys):
    main(seeds=(0, 1), pods=60, shapes=6)
    out = capsys.readouterr().out
    assert "not for their programs" in out
    assert out.count("60 pods, 6 shapes, seed ") == 2
    assert out.count("lower bound  ") == 2
    row = re.search(r"Karpenter's rules, one pool of all types +60 +\d+ +([\d,.]+) +(\d\.\d{3}) +\d+\.\d\d\n", out)
    found = [compare(Recipe(pods=60, shapes=6, seed=seed)) for seed in (0, 1)]
    first = found[0].lines[1]
    assert row is not None
    assert Decimal(row[1]) == round(first.cost_per_hour * 1000, 2)
    assert float(row[2]) == round(found[0].ratio(first.cost_per_hour), 3)
    mean = sum(one.ratio(one.lines[1].cost_per_hour) for one in found) / 2
    assert f"over 2 seeds: {PEERS[0]} {mean:.2f}," in " ".join(out.split())


def test_limits_zones_and_what_is_not_judged_are_told_of(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.comparison.unjudged_pods", lambda instance: 4)
    main(pods=300, shapes=9, mix=True, zonal=True, limits=True, seeds=(3,))
    out = " ".join(capsys.readouterr().out.split())
    assert "300 pods, 9 shapes, mix, zonal, limits, seed 3" in out
    assert "split evenly, a share pinned to each zone" in out
    assert "constraints that Growth does not judge from objects yet" in out


def test_an_instance_of_ones_own_needs_a_number_of_pods():
    with pytest.raises(BadRecipe, match="--pods"):
        main(mix=True)


def test_bad_input_is_one_line():
    command = [sys.executable, "-m", "benchmarks.compare", "--pods", "3", "--shapes", "9"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    problem = "pods and shapes must be 1 or more, shapes not above pods, the seed 0 or more"
    assert answer.stderr == f"benchmarks.compare: 3 pods, 9 shapes, seed 0: {problem}\n"
