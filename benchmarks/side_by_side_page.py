"""The tables of Growth and its peers side by side, as markdown for docs/benchmarks.md."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.catalogue import HOURS
from benchmarks.generator import Recipe
from benchmarks.measured import measured
from benchmarks.side_by_side_row import Run, SideBySideRow, Way, cost, over, versions

BEGIN: Final = "<!-- results -->\n"
END: Final = "\n<!-- end of results -->"
_MEBIBYTE: Final = 1 << 20
_TO_THE_TENTH: Final = 0.2
"""Shares below it are told to a tenth of a per cent."""


class NoPlace(Exception):
    """A document has no marks between which tables could be written; the text says which are missing."""


def keep(page: Path, text: str, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Write the tables into a document in place of those that are there, between two marks.

    Raises:
        NoPlace: the document has no place for them.
    """
    before, begin, rest = page.read_text().partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise NoPlace(f"{page}: needs the lines {marks[0].strip()} and {marks[1].strip()} around its tables")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def tables(rows: Sequence[SideBySideRow]) -> str:
    """Return where and with what the rows were measured, and the tables of all of them.

    Rows that differ in their seed alone are one line of the tables of costs and times: the median over seeds of the
    median over runs, and the lowest and highest of all runs.
    """
    of_recipe: dict[Recipe, list[SideBySideRow]] = {}
    for row in rows:
        of_recipe.setdefault(replace(row.recipe, seed=0), []).append(row)
    problems = list(of_recipe.values())
    parts = [
        measured(versions(rows)),
        "### Cost above the lower bound",
        _table(["pods x shapes", *(way.side for way in rows[0].ways)], map(_costs, problems)),
        "### Time and memory of one plan",
        _table(["pods x shapes", *(way.side for way in rows[0].ways if way.is_program)], map(_times, problems)),
        "### All figures",
        _table(
            [
                "pods x shapes",
                "who",
                "runs",
                "pods placed",
                "machines",
                "EUR per month",
                "lowest to highest",
                "over Growth",
            ],
            (line for row in rows for line in _lines(row)),
        ),
    ]
    return "\n\n".join(parts)


def _table(heads: Sequence[str], lines: Iterator[Sequence[str]]) -> str:
    rules = ["---" if head in {"pods x shapes", "who"} else "---:" for head in heads]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *lines))


def _name(recipe: Recipe) -> str:
    shapes = "all distinct" if recipe.shapes is None else f"{recipe.shapes:,}"
    kind = ", zones" if recipe.zonal else ", mix" if recipe.mix else ""
    return f"{recipe.pods:,} x {shapes}{kind}{', hosts' if recipe.hosts else ''}"


def _costs(rows: Sequence[SideBySideRow]) -> list[str]:
    return [_name(rows[0].recipe), *(_above(rows, k) for k in range(len(rows[0].ways)))]


def _above(rows: Sequence[SideBySideRow], k: int) -> str:
    ways = [row.ways[k] for row in rows]
    spans = [way.span(over) for way in ways]
    middle = _share(median(way.middle(over) for way in ways))
    least, most = _share(min(low for low, _ in spans)), _share(max(high for _, high in spans))
    text = middle if least == most else f"{middle} ({least} to {most})"
    missing = [row.missing(way) for row, way in zip(rows, ways, strict=True)]
    why = "not reached in time" if any(run.is_cut for way in ways for run in way.runs) else "left out"
    number = f"{min(missing):,} to {max(missing):,}" if min(missing) != max(missing) else f"{max(missing):,}"
    return f"{text}, {number} pods {why}" if any(missing) else text


def _times(rows: Sequence[SideBySideRow]) -> list[str]:
    programs = (k for k, way in enumerate(rows[0].ways) if way.is_program)
    return [_name(rows[0].recipe), *(_time([row.ways[k] for row in rows]) for k in programs)]


def _time(ways: Sequence[Way]) -> str:
    seconds = median(way.middle(lambda run: run.seconds) for way in ways)
    memory = max(run.peak_bytes for way in ways for run in way.runs) / _MEBIBYTE
    return f"{_seconds(seconds)}, {memory:,.0f} MiB"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 0.1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - two digits of each


def _lines(row: SideBySideRow) -> Iterator[list[str]]:
    name = f"{_name(row.recipe)}, seed {row.recipe.seed}"
    for way in row.ways:
        least, most = way.span(cost)
        over_growth = row.over_growth(way)
        yield [
            name,
            way.side,
            str(len(way.runs)),
            f"{row.recipe.pods - row.missing(way):,}",
            f"{way.middle(_machines):,.0f}",
            _per_month(way.middle(cost)),
            "" if least == most else f"{_per_month(least)} to {_per_month(most)}",
            "" if way is row.growth else "other pods" if over_growth is None else _share(over_growth),
        ]
    least = max(float(run.least_per_hour) for run in row.growth.runs)
    yield [name, "lower bound", "", "", "", _per_month(least), "", ""]


def _machines(run: Run) -> int:
    return run.machines


def _share(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %") if abs(share) < _TO_THE_TENTH else f"{share:+.0%}".replace("%", " %")


def _per_month(per_hour: float) -> str:
    return f"{per_hour * HOURS:,.2f}"
