"""The tables of both sides: what stands in which cell, and where they are kept."""

from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.generator import Recipe
from benchmarks.side_by_side_page import BEGIN, END, NoPlace, keep, tables
from benchmarks.side_by_side_row import Run, SideBySideRow, Way

GIBIBYTE = 1 << 30


def run(cost: str, *, placed: int = 2000, seconds: float = 0.0, peak: int = 0, is_cut: bool = False) -> Run:
    return Run(
        placed=placed,
        machines=7,
        cost_per_hour=Decimal(cost),
        least_per_hour=Decimal(1),
        seconds=seconds,
        peak_bytes=peak,
        is_cut=is_cut,
    )


def way(who: str, *runs: Run, is_program: bool = True, versions: str = "") -> Way:
    return Way(side=who, runs=runs, is_program=is_program, versions=versions)


ROW = SideBySideRow(
    Recipe(pods=2000, shapes=50, mix=True, seed=3),
    (
        way("Growth", run("1.0125", seconds=1.26, peak=GIBIBYTE), versions="Growth 1"),
        way(
            "Open", run("2.2"), run("2.5", seconds=0.0421, peak=5 << 20), run("1.9", seconds=0.0421), versions="Peer 2"
        ),
        way("Cut", run("1.06", placed=1500, seconds=60.4, is_cut=True)),
        way("Rules", run("1.35", placed=1999), is_program=False),
    ),
)


@pytest.fixture(scope="module")
def text() -> str:
    hosts = Recipe(pods=2000, shapes=50, hosts=True)
    other = (way("Growth", run("1.5")), way("Open", run("3")), way("Cut", run("1.25")), *ROW.ways[3:])
    seeds = [SideBySideRow(replace(hosts, seed=seed), ways) for seed, ways in enumerate((ROW.ways, other, other))]
    return tables([ROW, *seeds])


def lines(text: str, heading: str) -> list[str]:
    """Return the lines of the table under a heading."""
    return text.partition(f"### {heading}\n\n")[2].partition("\n\n")[0].splitlines()


def test_it_begins_with_machine_and_versions(text):
    first = text.splitlines()[0]
    assert first.startswith("Measured on ")
    assert first.endswith("; Growth 1; Peer 2.")
    assert " GiB of memory" in first


def test_costs_are_medians_above_the_bound_with_their_range_and_pods_left_out(text):
    cut, left_out = "+6.0 %, 500 pods not reached in time", "+35 %, 1 pods left out"
    cells = f"+1.2 % | +120 % (+90 % to +150 %) | {cut} | {left_out}"
    cut_of_seeds = "+25 % (+6.0 % to +25 %), 0 to 500 pods not reached in time"
    of_seeds = ["+50 % (+1.2 % to +50 %)", "+200 % (+90 % to +200 %)", cut_of_seeds]
    assert lines(text, "Cost above the lower bound") == [
        "| pods x shapes | Growth | Open | Cut | Rules |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| 2,000 x 50, mix | {cells} |",
        # Of three seeds, the median of medians, and the lowest and highest run of all.
        f"| 2,000 x 50, hosts | {' | '.join(of_seeds)} | {left_out} |",
    ]


def test_time_and_memory_are_told_of_programs_alone(text):
    assert lines(text, "Time and memory of one plan")[:3] == [
        "| pods x shapes | Growth | Open | Cut |",
        "| --- | ---: | ---: | ---: |",
        "| 2,000 x 50, mix | 1.3 s, 1,024 MiB | 42 ms, 5 MiB | 60 s, 0 MiB |",
    ]


def test_every_figure_has_its_line(text):
    # EUR per month of 1,000 hours.
    assert lines(text, "All figures")[2:7] == [
        "| 2,000 x 50, mix, seed 3 | Growth | 1 | 2,000 | 7 | 1,012.50 |  |  |",
        "| 2,000 x 50, mix, seed 3 | Open | 3 | 2,000 | 7 | 2,200.00 | 1,900.00 to 2,500.00 | +117 % |",
        "| 2,000 x 50, mix, seed 3 | Cut | 1 | 1,500 | 7 | 1,060.00 |  | other pods |",
        "| 2,000 x 50, mix, seed 3 | Rules | 1 | 1,999 | 7 | 1,350.00 |  | other pods |",
        "| 2,000 x 50, mix, seed 3 | lower bound |  |  |  | 1,000.00 |  |  |",
    ]


def test_tables_are_written_between_the_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}\nafter\n")
    keep(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    keep(page, "newer")
    assert page.read_text() == f"before\n{BEGIN}\nnewer\n{END}\nafter\n"


def test_a_page_without_marks_is_left_as_it_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n")
    with pytest.raises(NoPlace, match=r"page\.md: needs the lines"):
        keep(page, "new")
    assert page.read_text() == f"before\n{BEGIN}old\n"
