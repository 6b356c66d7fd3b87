"""Tables that a measurement writes say when and on what, and a run warns when what they measure has changed since."""

import re
import subprocess
import warnings
from datetime import UTC, date, datetime

import pytest

from benchmarks.measured import growth, measured
from tests.chaos import table
from tests.project.documents import ROOT

PAGES = {
    "docs/reliability.md": ("make chaos", 7, ("activities", "planner/lifecycle", "worker", "workflows")),
    "docs/performance.md": ("make load", 3, ("activities", "planner", "worker", "workflows")),
    "docs/benchmarks.md": ("make bench-peers", 1, ("benchmarks", "planner/packing")),
    "docs/churn.md": ("make bench-churn", 1, ("benchmarks/churn", "planner")),
}
"""Documents: what writes their tables, how many places they have, and the folders that are measured."""
PLACE = re.compile(r"^<!-- (?!end of )(.+) -->\n\n(.*)$", re.MULTILINE)
LINE = re.compile(r"Measured on (\d{1,2} [A-Z][a-z]+ 20\d\d): \d+ cores\b.*; Growth \d+\.\d+\.\d+\b.*\.")


NOT_YET = "Not measured yet."


def measured_on(page: str) -> list[date]:
    """Return the days of a document's tables; the first of all days for one that is still empty."""
    lines = [line for _, line in PLACE.findall((ROOT / page).read_text())]
    days = [
        matched and datetime.strptime(matched[1], "%d %B %Y").replace(tzinfo=UTC).date()
        for matched in map(LINE.fullmatch, lines)
    ]
    assert all(day or line == NOT_YET for day, line in zip(days, lines, strict=True)), lines
    return [day or date.min for day in days]


def changed_on(folders: tuple[str, ...]) -> date:
    """Return the day of the last commit that changed one of the folders."""
    command = ["git", "log", "-1", "--format=%cs", "--", *folders]
    return date.fromisoformat(
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    )


@pytest.mark.parametrize("page", PAGES)
def test_each_table_tells_when_and_on_what_it_was_measured(page):
    command, places, folders = PAGES[page]
    days = measured_on(page)
    assert len(days) == places
    changed = changed_on(folders)
    if min(days) < changed:
        when = f"measured on {min(days)}" if min(days) > date.min else "not measured in all parts"
        warnings.warn(f"{page} was {when}, its code changed on {changed}: {command}", stacklevel=1)


def test_a_table_is_written_with_its_line(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ends -->\n\nold\n\n<!-- end of ends -->\nafter\n")
    monkeypatch.setenv(table.KEPT_IN, str(page))
    table.keep("ends", "| new |")
    [(name, line)] = PLACE.findall(page.read_text())
    assert (name, line) == ("ends", measured([growth()]))
    assert LINE.fullmatch(line)
    assert page.read_text() == f"before\n<!-- ends -->\n\n{line}\n\n| new |\n\n<!-- end of ends -->\nafter\n"
