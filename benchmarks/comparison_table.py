"""The tables of `make bench`: Growth's plans and their aims, and what simpler rules buy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from rich.table import Table

from benchmarks.catalogue import HOURS
from benchmarks.comparison import RULES, InstanceComparison
from benchmarks.rows import MOST_BYTES, BenchmarkRow, Quality

_MEBIBYTE: Final = 1 << 20


def plans(
    rows: Sequence[BenchmarkRow],
    comparisons: Sequence[InstanceComparison],
    qualities: Mapping[str, Quality],
    *,
    is_aimed: bool,
) -> Table:
    """Return Growth's plans, with the aims that were missed if the rows have aims at all."""
    table = Table(title="Growth's plans", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("pods x shapes")
    heads = ("over bound", "aim", "no machine", "machines", "EUR", "seconds", "first", "MiB")
    for head in heads:
        table.add_column(head, justify="right")
    table.add_column("missed")
    for row, comparison in zip(rows, comparisons, strict=True):
        run = comparison.run
        table.add_row(
            str(comparison.case),
            f"{comparison.over:.2%}",
            row.target if is_aimed else "",
            f"{comparison.growth.unplaced:,}" if comparison.growth.unplaced else "",
            f"{comparison.growth.machines:,}",
            f"{comparison.growth.cost_per_hour * HOURS:,.2f}",
            f"{run.seconds:.2f}",
            f"{run.first_seconds:.2f}",
            f"{run.peak_bytes / _MEBIBYTE:.0f}",
            ", ".join(_missed(row, comparison, qualities[str(comparison.case)])) if is_aimed else "",
        )
    return table


def _missed(row: BenchmarkRow, comparison: InstanceComparison, quality: Quality) -> Iterator[str]:
    if (quality.cost / quality.best - 1 if row.is_of_best else comparison.over) > row.over:
        yield "cost"
    if comparison.run.seconds > row.seconds:
        yield f"{row.seconds:.0f} s"
    if comparison.run.first_seconds > row.first_seconds:
        yield f"first {row.first_seconds} s"
    if comparison.run.peak_bytes > MOST_BYTES:
        yield f"{MOST_BYTES // _MEBIBYTE} MiB"


def ratios(comparisons: Sequence[InstanceComparison]) -> Table:
    """Return the table of each rule's costs over Growth's, or of the pods that it places more."""
    title = "\nCost over Growth's"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("pods x shapes")
    for name in RULES:
        table.add_column(name, justify="right")
    for comparison in comparisons:
        table.add_row(str(comparison.case), *(_told(comparison, name) for name in RULES))
    return table


def _told(comparison: InstanceComparison, rule: str) -> str:
    ratio = comparison.ratio(rule)
    if ratio is not None:
        return f"{ratio:.3f}"
    if rule not in comparison.rules:
        return "too long"
    return f"{comparison.rules[rule].placed - comparison.growth.placed:+,} pods"


def means(comparisons: Sequence[InstanceComparison], seeds: int) -> Table:
    """Return the mean of each figure over the seeds of each row."""
    table = Table(
        title=f"\nMeans over {seeds} seeds", title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    table.add_column("pods x shapes")
    for name in ("over bound", *RULES):
        table.add_column(name, justify="right")
    for k in range(0, len(comparisons), seeds):
        alike = comparisons[k : k + seeds]
        case = replace(alike[0].case, recipe=replace(alike[0].case.recipe, seed=0))
        known = [[ratio for one in alike if (ratio := one.ratio(name)) is not None] for name in RULES]
        shown = [f"{fmean(one):.3f}" if len(one) == len(alike) else "" for one in known]
        table.add_row(str(case), f"{fmean(one.over for one in alike):.2%}", *shown)
    return table
