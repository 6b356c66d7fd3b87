"""Compiled code that is kept belongs to all sources of its folder."""

import shutil
import subprocess
import sys
from pathlib import Path

import planner.packing.optimiser.kernel

CALLED = "from kernel import kernel\n\n\n@kernel\ndef inner(x: int) -> int:\n    return {factor} * x\n"
CALLER = (
    "from inner import inner\nfrom kernel import kernel\n\n\n@kernel\ndef outer(x: int) -> int:\n    return inner(x)\n"
)


def outcome(folder: Path) -> int:
    code = "from outer import outer; print(outer(10))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True, timeout=100
    )
    return int(ran.stdout)


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    # With numba's own stamp, which looks at one file, the second outcome is that of the first source.
    shutil.copy(Path(planner.packing.optimiser.kernel.__file__), tmp_path / "kernel.py")
    (tmp_path / "outer.py").write_text(CALLER)
    for factor in (2, 3):
        (tmp_path / "inner.py").write_text(CALLED.format(factor=factor))
        assert outcome(tmp_path) == 10 * factor
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("__pycache__/outer*.nb*")}
    assert kept
    assert outcome(tmp_path) == 30
    assert kept == {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("__pycache__/outer*.nb*")}
