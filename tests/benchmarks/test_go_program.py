"""Building a Go program once: with a stand-in for Go that writes down how it was called."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.peers.karpenter_program import BuildError, binary

GO = """#!/bin/sh
echo "$@" >> "$GO_CALLS"
[ -n "$GO_FAILS" ] && { echo "main.go:1: no such thing" >&2; exit 1; }
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho built\\n' > "$2" && chmod +x "$2"
"""


@pytest.fixture
def calls(tmp_path, monkeypatch) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(GO)
    (tmp_path / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_CALLS", str(tmp_path / "calls"))
    monkeypatch.delenv("GO_FAILS", raising=False)
    return tmp_path / "calls"


@pytest.fixture
def module(tmp_path) -> Path:
    folder = tmp_path / "peer"
    folder.mkdir()
    for name in ("main.go", "go.mod", "go.sum"):
        (folder / name).write_text(name)
    return folder


def test_it_is_built_once_into_the_cache(calls, module, tmp_path):
    built = binary(module)
    assert built.is_relative_to(tmp_path / "cache" / "growth" / "peer")
    assert subprocess.run([built], capture_output=True, text=True, check=True).stdout == "built\n"
    assert binary(module) == built
    assert len(calls.read_text().splitlines()) == 1
    assert {path.name for path in module.iterdir()} == {"main.go", "go.mod", "go.sum"}


def test_other_sources_are_another_program(calls, module):
    first = binary(module)
    (module / "go.sum").write_text("of another version")
    assert binary(module) != first
    assert first.exists()
    assert len(calls.read_text().splitlines()) == 2


def test_a_build_that_fails_says_why_and_leaves_nothing(calls, module, monkeypatch, tmp_path):
    monkeypatch.setenv("GO_FAILS", "yes")
    with pytest.raises(BuildError, match="no such thing"):
        binary(module)
    assert [path for path in (tmp_path / "cache").rglob("peer*") if path.is_file() and path.suffix != ".lock"] == []


def test_without_go_it_says_what_is_missing(module, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(BuildError, match="Go is missing"):
        binary(module)
