"""The shape of the code is checked like its behaviour: file sizes, the import law, what no commit may hold."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("api", "planner", "activities", "workflows", "simulator", "benchmarks", "worker")
LONGEST = 400
"""Lines of a Python file; above 300 a review is due. No file is exempt."""


def tracked(pattern: str) -> list[Path]:
    """Return the files git knows or would know, so that caches do not count."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listing.stdout.splitlines() if (path := ROOT / name).is_file()]


def test_no_python_file_is_too_long():
    files = tracked("*.py")
    assert len(files) > 50
    too_long = {str(f.relative_to(ROOT)): n for f in files if (n := len(f.read_text().splitlines())) > LONGEST}
    assert not too_long


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts on the rooms below `folder`."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("file", "planted", "broken"),
    [
        ("planner/plan.py", "import activities.ports.cluster", "Rooms import only rooms below them"),
        ("workflows/planner.py", "import kubernetes", "Workflows, planner and api reach no client"),
        ("simulator/world.py", "import kubernetes", "Only activities.kube.client imports kubernetes"),
        ("planner/packing/greedy/pack.py", "import temporalio", "Decisions know nothing"),
        ("benchmarks/problem.py", "import simulator.world", "Rooms import only rooms below them"),
        (
            "planner/packing/greedy/pack.py",
            "import numpy",
            "Only the optimiser imports numpy, numba and ortools",
        ),
        (
            "worker/solver/in_process.py",
            "import numba",
            "Only the optimiser imports numpy, numba and ortools",
        ),
        (
            "activities/round/plan_round.py",
            "import planner.packing.optimiser",
            "The optimiser is handed in, never imported",
        ),
        ("planner/plan.py", "import planner.packing.optimiser", "The optimiser is handed in, never imported"),
        ("worker/main.py", "import benchmarks.generator", "No command draws instances"),
    ],
)
def test_a_planted_import_breaks_its_contract(tmp_path: Path, file: str, planted: str, broken: str):
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room)
    shutil.copy(ROOT / ".importlinter", tmp_path)
    target = tmp_path / file
    target.write_text(f"{planted}\n{target.read_text()}")

    answer = lint_imports(tmp_path)

    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert any(broken in line and "BROKEN" in line for line in answer.stdout.splitlines()), answer.stdout
