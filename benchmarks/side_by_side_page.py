"""The tables of Growth and its peers side by side, as markdown for docs/benchmarks.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.catalogue import HOURS
from benchmarks.measured import measured
from benchmarks.side_by_side_row import Run, SideBySideRow, Way, cost, over, versions

BEGIN: Final = "<!-- results -->\n"
END: Final = "\n<!-- end of results -->"
_MEBIBYTE: Final = 1 << 20
_TO_THE_TENTH: Final = 0.2
"""Shares below it are told to a tenth of a per cent."""


class NoPlace(Exception):
    """A document has no marks between which tables could be written; the text says which are missing."""


def keep(page: Path, text: str) -> None:
    """Write the tables into a document in place of those that are there.

    Raises:
        NoPlace: the document has no place for them.
    """
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise NoPlace(f"{page}: needs the lines {BEGIN.strip()} and {END.strip()} around its tables")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def tables(rows: Sequence[SideBySideRow]) -> str:
    """Return where and with what the rows were measured, and the tables of all of them."""
    parts = [
        measured(versions(rows)),
        "### Cost above the lower bound",
        _table(["pods x shapes", *(way.side for way in rows[0].ways)], map(_costs, rows)),
        "### Time and memory of one plan",
        _table(["pods x shapes", *(way.side for way in rows[0].ways if way.is_program)], map(_times, rows)),
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


def _name(row: SideBySideRow) -> str:
    recipe = row.recipe
    shapes = "all distinct" if recipe.shapes is None else f"{recipe.shapes:,}"
    seed = f", seed {recipe.seed}" if recipe.seed else ""
    return f"{recipe.pods:,} x {shapes}{', mix' if recipe.mix else ''}{seed}"


def _costs(row: SideBySideRow) -> list[str]:
    return [_name(row), *(_above(row, way) for way in row.ways)]


def _above(row: SideBySideRow, way: Way) -> str:
    middle, (least, most) = _share(way.middle(over)), map(_share, way.span(over))
    text = middle if least == most else f"{middle} ({least} to {most})"
    why = "not reached in time" if any(run.is_cut for run in way.runs) else "left out"
    return f"{text}, {row.missing(way):,} pods {why}" if row.missing(way) else text


def _times(row: SideBySideRow) -> list[str]:
    return [_name(row), *(_time(way) for way in row.ways if way.is_program)]


def _time(way: Way) -> str:
    seconds = way.middle(lambda run: run.seconds)
    memory = max(run.peak_bytes for run in way.runs) / _MEBIBYTE
    return f"{_seconds(seconds)}, {memory:,.0f} MiB"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 0.1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - two digits of each


def _lines(row: SideBySideRow) -> Iterator[list[str]]:
    for way in row.ways:
        least, most = way.span(cost)
        over_growth = row.over_growth(way)
        yield [
            _name(row),
            way.side,
            str(len(way.runs)),
            f"{row.recipe.pods - row.missing(way):,}",
            f"{way.middle(_machines):,.0f}",
            _per_month(way.middle(cost)),
            "" if least == most else f"{_per_month(least)} to {_per_month(most)}",
            "" if way is row.growth else "other pods" if over_growth is None else _share(over_growth),
        ]
    least = max(float(run.least_per_hour) for run in row.growth.runs)
    yield [_name(row), "lower bound", "", "", "", _per_month(least), "", ""]


def _machines(run: Run) -> int:
    return run.machines


def _share(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %") if abs(share) < _TO_THE_TENTH else f"{share:+.0%}".replace("%", " %")


def _per_month(per_hour: float) -> str:
    return f"{per_hour * HOURS:,.2f}"
