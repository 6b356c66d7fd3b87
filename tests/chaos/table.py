"""The table of what was done to which story and how it ended: printed, and kept in docs/reliability.md."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.measured import growth, measured
from tests.chaos.play import Outcome

KEPT_IN: Final = "GROWTH_CHAOS_TABLES"
"""Environment variable: the document whose tables are written anew."""


def ends(outcomes: Sequence[Outcome]) -> str:
    """Return how many ended how, in a word or three."""
    wrong = sum(bool(one.wrong) for one in outcomes)
    unmet = sum(not one.met and not one.wrong for one in outcomes)
    parts = [f"{len(outcomes) - wrong - unmet} right"]
    parts += [f"{wrong} wrong"] if wrong else []
    parts += [f"{unmet} not met"] if unmet else []
    return ", ".join(parts)


def rows(grouped: Mapping[str, Sequence[Outcome]], heads: tuple[str, str, str]) -> str:
    """Return a table in markdown with a row for each group and one for the sum."""
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---|"]
    lines += [f"| {name} | {len(of)} | {ends(of)} |" for name, of in sorted(grouped.items())]
    all_of = [one for of in grouped.values() for one in of]
    return "\n".join([*lines, f"| **all** | {len(all_of)} | {ends(all_of)} |"])


def by(outcomes: Iterable[tuple[str, Outcome]]) -> dict[str, list[Outcome]]:
    """Return the outcomes by name."""
    grouped: defaultdict[str, list[Outcome]] = defaultdict(list)
    for name, one in outcomes:
        grouped[name].append(one)
    return dict(grouped)


def keep(name: str, table: str, *, kept_in: str = KEPT_IN) -> None:
    """Print a table, and write it into the document between its marks if the variable `kept_in` names one."""
    print(f"\n{table}")
    if kept_in not in os.environ:
        return
    document = Path(os.environ[kept_in])
    text = document.read_text()
    begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    before, after = text.split(begin)[0], text.split(end)[1]
    document.write_text(f"{before}{begin}\n{measured([growth()])}\n\n{table}\n{end}{after}")
