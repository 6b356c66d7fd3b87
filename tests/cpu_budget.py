"""What tests cost in seconds of processor time, by directory, against the budget in cpu_budget.json.

A wall clock says little on a machine that does other things as well. Counted are the test process, its children that
have ended, and, where Linux lists them, those that still run: control planes, Temporal servers, workers.
"""

import json
import os
import resource
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

BUDGETS: Final = Path(__file__).with_name("cpu_budget.json")
TOLERANCE: Final = 1.2
"""A run may cost so many times its budget: the same tests differ by a tenth from run to run."""
COLLECTION: Final = "collection"
"""The row of all that is no test: start, imports, collection."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_OWN_TIMES: Final = slice(11, 15)
"""utime, stime, cutime, cstime after the name of the process. Source: proc_pid_stat(5)."""


class Meter:
    """Assigns the processor time of this process and its children to the file whose test runs."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        """By file, and `COLLECTION`."""
        self._current = COLLECTION
        self._read = 0.0

    def switch(self, file: str) -> None:
        """Count what follows for this file."""
        if file == self._current:
            return
        now = _spent()
        # A child that dies before its own children hides theirs: the sum may go back.
        self.seconds[self._current] += max(0.0, now - self._read)
        self._current, self._read = file, now

    def stop(self) -> dict[str, float]:
        """Return the seconds by file."""
        self.switch("")
        return dict(self.seconds)


def budget_of(name: str) -> dict[str, float]:
    """Return the rows of a budget: directory and seconds."""
    return json.loads(BUDGETS.read_text())[name]


def by_row(seconds: Mapping[str, float], budget: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each row that ran; a file belongs to the nearest folder above it that has a row.

    A file without any row is a row of its own.
    """
    total: Counter[str] = Counter()
    for file, spent in seconds.items():
        folders = (str(folder) for folder in PurePosixPath(file).parents)
        row = file if file in budget else next((folder for folder in folders if folder in budget), file)
        total[row] += spent
    return dict(total)


def complaints(rows: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """Return a line for each row that costs too much or has no budget."""
    found = []
    for row, spent in sorted(rows.items()):
        if row not in budget:
            found.append(f"{row} has no budget: add its folder to tests/{BUDGETS.name}")
        elif spent > budget[row] * TOLERANCE:
            found.append(
                f"{row}: {spent:.0f} s of processor time, {budget[row]:g} s are planned (tests/{BUDGETS.name})"
            )
    return found


def table(rows: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """Return the rows that ran, the dearest first, and their sum."""
    lines = [
        f"{spent:8.1f} s of {budget.get(row, 0):6g} s  {row}"
        for row, spent in sorted(rows.items(), key=lambda each: -each[1])
    ]
    return [*lines, f"{sum(rows.values()):8.1f} s in all"]


def _spent() -> float:
    """Return the seconds of processor time of this process and all below it so far."""
    ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in ended) + sum(map(_with_children, _children(os.getpid())))


def _children(pid: int) -> list[int]:
    """Return the children of a process that run; none where the system does not list them."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, listed.read_text().split())
        except OSError:
            # The thread has ended meanwhile.
            continue
    return found


def _with_children(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        # It has ended meanwhile, and counts with those that have.
        return 0.0
    own = sum(map(int, stat.rpartition(")")[2].split()[_OWN_TIMES])) / _TICKS
    return own + sum(map(_with_children, _children(pid)))
