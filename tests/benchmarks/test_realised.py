"""`python -m benchmarks.realised`: a table a problem, and bad input told in one line."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.closed_loop import ClosedLoopRun, realise
from benchmarks.generator import BadRecipe, Recipe, draw
from benchmarks.objects import snapshot_of
from benchmarks.realised import PACKERS, RECIPES, main
from planner.packing.fallback.pack import pack
from planner.packing.optimiser.solve import solve

ROOT = Path(__file__).resolve().parents[2]


def test_six_problems_are_played_with_the_optimiser_unless_something_else_is_asked_for():
    sizes = [(300, 30), (1000, 50), (1000, 500)]
    assert list(RECIPES) == [Recipe(pods=p, shapes=s, mix=mix) for p, s in sizes for mix in (False, True)]
    assert {"fallback": pack, "solver": solve} == PACKERS


def test_a_table_for_each_problem_and_the_means_of_all(capsys):
    main(packer="fallback", seeds=(0, 1), pods=60, shapes=6)
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert out.count("60 pods, 6 shapes, seed ") == 2
    course = ClosedLoopRun(reserves=False, together=False)
    found = [
        realise(snapshot_of(draw(Recipe(pods=60, shapes=6, seed=seed))), pack, replace(course, seed=seed))
        for seed in (0, 1)
    ]
    for one in found:
        planned = [
            f"{one.planned_machines}",
            f"{one.planned_per_hour * 1000:.2f}",
            "1.000",
            "0",
            "1.000",
            "0",
            "0",
            "1",
        ]
        assert ["planned", *planned] in rows
        assert ["reserved", *planned] in rows
        assert ["reserved,", "all", "at", "once", *planned] in rows
        came = [f"{one.machines}", f"{one.cost_per_hour * 1000:.2f}", f"{one.ratio:.3f}"]
        empty = [f"{one.empty}", f"{one.bought_per_hour / one.planned_per_hour:.3f}"]
        assert ["not", "reserved", *came, *empty, f"{one.astray}", f"{one.left_over}", f"{one.rounds}"] in rows
    mean = sum(one.ratio for one in found) / 2
    told = " ".join(out.split())
    assert f"Mean ratio to plan: reserved 1.000, reserved, all at once 1.000, not reserved {mean:.3f}," in told


def test_a_problem_of_ones_own_needs_a_number_of_pods():
    with pytest.raises(BadRecipe, match="--pods"):
        main(mix=True)


def test_bad_input_is_one_line():
    command = [sys.executable, "-m", "benchmarks.realised", "--pods", "3", "--shapes", "9"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    problem = "pods and shapes must be 1 or more, shapes not above pods, the seed 0 or more"
    assert answer.stderr == f"benchmarks.realised: 3 pods, 9 shapes, seed 0: {problem}\n"
