"""Compiled code that is kept belongs to all sources of its folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import planner.packing.optimiser.kernel

CALLED = "from kernel import kernel\n\n\n@kernel\ndef inner(x: int) -> int:\n    return {factor} * x\n"
CALLER = (
    "from inner import inner\nfrom kernel import kernel\n\n\n@kernel\ndef outer(x: int) -> int:\n    return inner(x)\n"
)


def outcome(folder: Path, **environment: str) -> int:
    code = "from outer import outer; print(outer(10))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return int(ran.stdout)


@pytest.fixture
def folder(tmp_path):
    """A folder with kernels of its own."""
    shutil.copy(Path(planner.packing.optimiser.kernel.__file__), tmp_path / "kernel.py")
    (tmp_path / "outer.py").write_text(CALLER)
    (tmp_path / "inner.py").write_text(CALLED.format(factor=2))
    return tmp_path


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(folder):
    # With numba's own stamp, which looks at one file, the second outcome is that of the first source.
    for factor in (2, 3):
        (folder / "inner.py").write_text(CALLED.format(factor=factor))
        assert outcome(folder) == 10 * factor
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("__pycache__/outer*.nb*")}
    assert kept
    assert outcome(folder) == 30
    assert kept == {path.name: path.stat().st_mtime_ns for path in folder.glob("__pycache__/outer*.nb*")}


def test_without_a_folder_that_can_be_written_kernels_are_compiled_each_time(folder):
    """As in a container whose root file system is read-only, for a user without a home."""
    (folder / "__pycache__").write_text("no folder")
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/kernels", "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    assert outcome(folder, **nowhere) == 20


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 9], ids=["empty", "cut off"])
def test_a_file_that_was_cut_off_is_written_anew(folder, suffix, left):
    """As a machine that lost its power leaves it, or a full disk."""
    assert outcome(folder) == 20
    files = list(folder.glob(f"__pycache__/*.{suffix}"))
    assert len(files) == 2
    whole = {file: file.stat().st_size for file in files}
    for file in files:
        file.write_bytes(file.read_bytes()[:left])
    assert outcome(folder) == 20
    assert {file: file.stat().st_size for file in files} == pytest.approx(whole, rel=0.1)
