"""`make bench-peers`: which problems are run how often, where the tables go, and bad input told in one line."""

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks import side_by_side
from benchmarks.generator import BadRecipe, Recipe
from benchmarks.side_by_side import ROWS, main
from benchmarks.side_by_side_page import BEGIN, END
from benchmarks.side_by_side_row import Run, SideBySideRow, Way
from benchmarks.sides import SideEffort

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def measured(monkeypatch) -> list[tuple[Recipe, SideEffort]]:
    """Return what is asked to be measured, in place of measuring it."""
    asked = []

    def measure(recipe: Recipe, effort: SideEffort) -> SideBySideRow:
        asked.append((recipe, effort))
        run = Run(placed=recipe.pods, machines=1, cost_per_hour=Decimal(2), least_per_hour=Decimal(1))
        return SideBySideRow(recipe, (Way(side="Growth", runs=(run,)),))

    monkeypatch.setattr(side_by_side, "measure", measure)
    return asked


def test_sixteen_problems_of_three_seeds_are_run_three_times_each_unless_something_else_is_asked_for(measured, capsys):
    main()
    sizes = [(100, 50), (1000, 50), (1000, 500), (10_000, 50), (10_000, 500)]
    expected = [Recipe(pods=pods, shapes=shapes, mix=mix) for pods, shapes in sizes for mix in (False, True)]
    expected += [Recipe(pods=pods, shapes=shapes, mix=True, zonal=True) for pods, shapes in sizes[:3]]
    expected += [Recipe(pods=pods, shapes=shapes, hosts=True) for pods, shapes in sizes[:3]]
    assert [recipe for recipe, _ in measured] == [replace(one, seed=seed) for one in expected for seed in (0, 1, 2)]
    assert {effort for _, effort in measured} == {SideEffort(repetitions=3, patience=30)}
    assert len(ROWS) == 16
    assert capsys.readouterr().out.count("+100 %") == 16


def test_rows_seeds_and_repetitions_can_be_chosen(measured, capsys):
    main("300x9-mix", "20x5", seeds=(0, 4), repetitions=2, patience=1)
    few = SideEffort(repetitions=2, patience=1)
    assert measured == [
        (Recipe(pods=300, shapes=9, mix=True), few),
        (Recipe(pods=300, shapes=9, mix=True, seed=4), few),
        (Recipe(pods=20, shapes=5), few),
        (Recipe(pods=20, shapes=5, seed=4), few),
    ]
    assert "| 300 x 9, mix, seed 4 | Growth |" in capsys.readouterr().out


def test_tables_go_to_a_page_if_one_is_named(measured, capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}\n")
    main("20x5", seeds=(0,), page=page)
    assert "| 20 x 5 | +100 % |" in page.read_text()
    assert capsys.readouterr().out == ""


def test_the_projects_page_has_a_place_for_them():
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    assert text.count(BEGIN) == text.count(END) == 1


@pytest.mark.parametrize("row", ["1000", "1000x", "x50", "1000x50-mixed", "1000x50-mix-zonal", "1,000x50"])
def test_a_row_is_pods_and_shapes(row, measured):
    with pytest.raises(BadRecipe, match=f"'{row}': a row is PODSxSHAPES"):
        main(row)
    assert measured == []


def test_no_repetition_is_no_measurement(measured):
    with pytest.raises(BadRecipe, match="--repetitions 0"):
        main(repetitions=0)


def test_bad_input_is_one_line():
    command = [sys.executable, "-m", "benchmarks.side_by_side", "3x9"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    problem = "pods and shapes must be 1 or more, shapes not above pods, the seed 0 or more"
    assert answer.stderr == f"benchmarks.side_by_side: 3 pods, 9 shapes, seed 0: {problem}\n"
