"""Builds a Go program of the benchmark, once, into a cache folder and never into the repository."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


class BuildError(Exception):
    """The program cannot be built; the text says what is missing."""


def binary(module: Path) -> Path:
    """Return the program of a Go module, after building it if its sources have changed (minutes, the first time).

    Raises:
        BuildError: Go is missing or too old, or the module cannot be built.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    built = caches / "growth" / module.name / _digest(module) / module.name
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with built.with_suffix(".lock").open("w") as lock:
        # Two runs at once must not both build; the second finds it built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(module, built)
    return built


def _digest(module: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted([*module.glob("*.go"), module / "go.mod", module / "go.sum"]):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _build(module: Path, built: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go is missing: {module.name} is built from source (https://go.dev/dl/)")
    sys.stderr.write(f"building {module.name} into {built.parent}: about three minutes, once\n")
    unfinished = built.with_suffix(f".{os.getpid()}")
    # Without a stamp of the commit: git refuses to tell it in a folder of another user's.
    command = [go, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", str(unfinished), "."]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=module, env=environment, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 - Go, on our own module
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        # An old Go without leave to download another one says so here, too.
        raise BuildError(f"go build failed in {module}:\n{done.stderr[-4000:]}")
    unfinished.rename(built)
