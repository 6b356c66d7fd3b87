"""`make bench`: tables of plans and ratios, the verdict on quality, and bad input told in one line."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import compare as command
from benchmarks import comparison, rows
from benchmarks.case import Case, Family
from benchmarks.compare import main
from benchmarks.comparison import compare
from benchmarks.generator import BadRecipe, Recipe
from benchmarks.growth_program import GrowthRun
from benchmarks.rows import MOST_BYTES, ROWS, BenchmarkRow, read_quality
from planner.packing.optimiser.effort import Effort
from planner.packing.optimiser.solve import solve
from planner.packing.problem import PackedNode, Packing
from tests.benchmarks.problems import KNOWN

ROOT = Path(__file__).resolve().parents[2]
SHORT = Effort(starts=2, placing=10_000, turns=1, improving=10_000, improving_a_machine=1_000, whole=0.01, proof=0)
CASE = Case(Recipe(pods=60, shapes=6))


@pytest.fixture(autouse=True)
def _in_place(monkeypatch):
    def run(problem, effort=SHORT):
        return GrowthRun(solve(problem, SHORT), 1.25, 0.75, 3 * MOST_BYTES)

    monkeypatch.setattr(comparison, "growth_run", run)
    monkeypatch.setattr(command, "growth_run", run)


@pytest.fixture
def known(monkeypatch, tmp_path):
    """A row of its own and a file of its own."""
    path = tmp_path / "quality.json"
    monkeypatch.setattr(command, "ROWS", (BenchmarkRow(CASE, 0.5),))
    monkeypatch.setattr(command, "read_quality", lambda: read_quality(path))
    monkeypatch.setattr(command, "write_quality", lambda known: rows.write_quality(known, path))
    return path


def test_the_rows_have_the_instances_of_the_study_and_every_class():
    recipes = {row.case.recipe for row in ROWS if not row.case.family}
    assert set(KNOWN.values()) <= recipes
    for pods, shapes in ((100, 50), (1_000, 50), (1_000, 500), (10_000, 50), (10_000, 500)):
        assert {Recipe(pods=pods, shapes=shapes), Recipe(pods=pods, shapes=shapes, mix=True)} <= recipes
    assert {row.case.family for row in ROWS} == set(Family)
    assert {recipe.shapes for recipe in recipes} >= {5, None}
    assert any(recipe.limits for recipe in recipes)
    assert any(recipe.zonal and recipe.mix for recipe in recipes)


def test_plans_ratios_and_means_of_an_instance_of_ones_own(capsys):
    assert main(seeds=(0, 1), pods=60, shapes=6) == 0
    out = capsys.readouterr().out
    assert "not for their" in out
    found = [compare(Case(Recipe(pods=60, shapes=6, seed=seed))) for seed in (0, 1)]
    row = re.search(r"^60 x 6 +([\d.]+)% +(\d+) +([\d,.]+) +1\.25 +0\.75 +1200\s*$", out, re.MULTILINE)
    assert row is not None, out
    assert float(row[1]) == round(100 * found[0].over, 2)
    assert int(row[2]) == found[0].growth.machines
    assert float(row[3]) == round(float(found[0].growth.cost_per_hour) * 1000, 2)
    ratios = [f"{found[1].ratio(name):.3f}" for name in found[1].rules]
    assert re.search(rf"^60 x 6, seed 1 +{' +'.join(ratios)}\s*$", out, re.MULTILINE), out
    mean = sum(one.over for one in found) / 2
    assert re.search(rf"Means over 2 seeds.*\n.*\n60 x 6 +{100 * mean:.2f}%", out), out


def test_what_was_missed_is_told(capsys, known, monkeypatch):
    monkeypatch.setattr(command, "ROWS", (BenchmarkRow(CASE, 0.0, seconds=1.0, first_seconds=0.5),))
    main()
    [row] = [line for line in capsys.readouterr().out.splitlines() if "1200" in line]
    assert row.split("1200")[1].strip() == "cost, 1 s, first 0.5 s, 400 MiB"


def test_nothing_is_said_of_aims_that_are_reached(capsys, known, monkeypatch):
    monkeypatch.setattr(command, "ROWS", (BenchmarkRow(CASE, 0.5),))
    monkeypatch.setattr("benchmarks.comparison_table.MOST_BYTES", 4 * MOST_BYTES)
    monkeypatch.setattr(command, "ROWS", (BenchmarkRow(CASE, 0.5, first_seconds=1.0),))
    main()
    [row] = [line for line in capsys.readouterr().out.splitlines() if "1200" in line]
    assert row.split("1200")[1].strip() == ""


def test_more_or_fewer_pods_are_told_in_place_of_a_ratio(capsys, known, monkeypatch):
    scarce = Case(Recipe(pods=200, shapes=9, limits=True), Family.ALL_SCARCE)
    monkeypatch.setattr(command, "ROWS", (BenchmarkRow(scarce, 0.5),))
    main()
    growth = compare(scarce).growth
    assert f"+{growth.unplaced} pods" in capsys.readouterr().out


def test_a_row_that_is_not_known_fails_nothing_and_is_written_on_demand(capsys, known):
    assert main() == 0
    assert "Not in benchmarks/quality.json: 60 x 6" in capsys.readouterr().out
    assert not known.exists()
    assert main(write=True) == 0
    assert read_quality(known)["60 x 6"].cost == int(compare(CASE).growth.cost_per_hour * 10**9)
    capsys.readouterr()
    assert main() == 0
    assert "quality.json says:" not in capsys.readouterr().out


def test_a_worse_plan_fails_and_names_its_row(capsys, known):
    main(write=True)
    written = read_quality(known)["60 x 6"]
    rows.write_quality({"60 x 6": replace(written, cost=int(written.cost / 1.02))}, known)
    capsys.readouterr()
    assert main() == 1
    assert "Worse than benchmarks/quality.json says: 60 x 6: the plan costs 2.00% more" in capsys.readouterr().out


def test_a_plan_that_is_dearer_than_a_rule_fails(capsys, known, monkeypatch):
    def run(problem, effort=SHORT):
        # A machine of its own for every pod.
        nodes = tuple(
            PackedNode(min(group.bins, key=lambda b: problem.bins[b].price), {i: 1})
            for i, group in enumerate(problem.groups)
            for _ in range(group.count)
        )
        return GrowthRun(Packing(nodes, proven=1), 1.0, 0.5, 1)

    monkeypatch.setattr(comparison, "growth_run", run)
    assert main() == 1
    assert re.search(r"Dearer than a simpler rule: 60 x 6: fallback costs \d+\.\d+% less", capsys.readouterr().out)


def test_a_better_plan_is_told_of_and_renews_the_file_on_demand(capsys, known):
    main(write=True)
    written = read_quality(known)["60 x 6"]
    rows.write_quality({"60 x 6": replace(written, cost=2 * written.cost)}, known)
    capsys.readouterr()
    assert main() == 0
    assert "Better than benchmarks/quality.json says; --write renews it: 60 x 6" in capsys.readouterr().out
    main(write=True)
    assert read_quality(known)["60 x 6"] == written


@pytest.mark.parametrize("options", [{"mix": True}, {"shapes": 3}, {"pods": 9, "write": True}])
def test_an_instance_of_ones_own_needs_a_number_of_pods_and_is_not_written(options):
    with pytest.raises(BadRecipe, match="--pods"):
        main(**options)


def test_bad_input_is_one_line():
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare", "--pods", "3", "--shapes", "9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    problem = "pods and shapes must be 1 or more, shapes not above pods, the seed 0 or more"
    assert answer.stderr == f"benchmarks.compare: 3 pods, 9 shapes, seed 0: {problem}\n"
