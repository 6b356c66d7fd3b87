"""On what something was measured: the line above each table that a measurement writes into a document."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def measured(programs: Sequence[str]) -> str:
    """Return the day, the machine and the versions of what was measured."""
    return f"Measured on {datetime.now(UTC).date():%d %B %Y}: {_machine()}; {'; '.join(programs)}."


def growth() -> str:
    """Return the version of Growth in this checkout, and the commit where there is one."""
    command = ["git", "-C", str(_ROOT), "describe", "--always"]
    described = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - no words of anyone's
    commit = f" at {described.stdout.strip()}" if described.returncode == 0 else ""
    return f"Growth {version('growth-autoscaler')}{commit}"


def _machine() -> str:
    return f"{os.cpu_count()} cores of {_processor()}, {_memory():.0f} GiB of memory, {platform.system()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
