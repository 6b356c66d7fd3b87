import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import _LONG
from tests.cpu_budget import BUDGETS, COLLECTION, Meter, budget_of, by_row, complaints

ROOT = Path(__file__).parents[2]


def test_a_file_counts_for_the_nearest_folder_that_has_a_row():
    budget = {"tests": 1, "tests/a": 1, "tests/a/test_own.py": 1}
    seconds = {
        "tests/a/test_x.py": 1,
        "tests/a/b/test_y.py": 2,
        "tests/a/test_own.py": 4,
        "tests/c/test_z.py": 8,
        "elsewhere": 16,
    }
    assert by_row(seconds, budget) == {"tests/a": 3, "tests/a/test_own.py": 4, "tests": 8, "elsewhere": 16}


def test_a_row_may_exceed_its_budget_by_a_fifth():
    assert complaints({"tests/a": 11.9, "tests/b": 12.1}, {"tests/a": 10, "tests/b": 10}) == [
        "tests/b: 12 s of processor time, 10 s are planned (tests/cpu_budget.json)"
    ]
    assert complaints({"tests/new": 0.1}, {}) == ["tests/new has no budget: add its folder to tests/cpu_budget.json"]


def test_time_is_assigned_to_the_file_whose_test_runs():
    meter = Meter()
    meter.switch("a")
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    meter.switch("b")
    found = meter.stop()
    assert set(found) == {COLLECTION, "a", "b"}
    assert 0.5 <= found["a"] < 2
    assert found["b"] < 0.1


def test_a_child_that_still_runs_counts():
    meter = Meter()
    meter.switch("a")
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint('done', flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        child.stdout.readline()
        found = meter.stop()
        child.kill()
    # The system counts those that run in hundredths.
    assert 0.4 <= found["a"] < 2


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_over_its_budget_fails_and_tells_the_row(tmp_path, processes):
    """Also where the tests run in processes of xdist."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for file in ("conftest.py", "cpu_budget.py"):
        (tests / file).write_text((ROOT / "tests" / file).read_text())
    (tests / "burning").mkdir()
    (tests / "burning" / "test_a.py").write_text(
        "import time\ndef test_a():\n    end = time.process_time() + 1\n    while time.process_time() < end: pass\n"
    )
    (tests / "test_b.py").write_text("def test_b(): pass\n")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n')

    def run(**budget: float) -> subprocess.CompletedProcess[str]:
        (tests / "cpu_budget.json").write_text(json.dumps({"mine": budget}))
        words = ["-m", "pytest", "-q", "-n", processes, "--dist", "loadfile", "--cpu-budget", "mine", "tests"]
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        )  # fmt: skip

    rows = {COLLECTION: 60, "tests": 1}
    enough = run(**rows, **{"tests/burning": 1.5})
    assert enough.returncode == 0, enough.stdout + enough.stderr
    scant = run(**rows, **{"tests/burning": 0.5})
    assert scant.returncode == 1, scant.stdout
    assert "OVER BUDGET: tests/burning: 1 s of processor time, 0.5 s are planned" in scant.stdout
    assert "2 passed" in scant.stdout


def test_every_folder_with_tests_has_a_budget():
    folders = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert BUDGETS.exists()
    rows = {row for name in json.loads(BUDGETS.read_text()) for row in budget_of(name)}
    lost = {f for f in folders if not any(f == row or f.startswith(f"{row}/") for row in rows)}
    assert lost == {"tests/load"}, "what make load runs tells its cost itself"


def test_files_that_begin_first_exist():
    assert [name for name in _LONG if not (ROOT / "tests" / "e2e" / f"test_{name}.py").exists()] == []
