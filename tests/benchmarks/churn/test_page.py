"""The tables of a churn, and the command that writes them."""

import pytest

from benchmarks.churn.__main__ import main
from benchmarks.churn.comparison import Churned, ChurnOutcome, ChurnRecipe, ChurnReference
from benchmarks.churn.page import MARKS, over_anew, tables
from benchmarks.side_by_side_page import NoPlace, keep


def outcome(side: str, seed: int, cost: float, moved: int) -> ChurnOutcome:
    return ChurnOutcome(side, seed, cost, 2 * cost, moved, 30, waiting_minutes=9.0, wait_p95=80, cpu_seconds=1.0)


CHURNED = Churned(
    ChurnRecipe(days=3),
    [outcome("a", 0, 11.0, 300), outcome("a", 1, 26.0, 600), outcome("b", 0, 10.0, 0), outcome("b", 1, 20.0, 0)],
    {0: ChurnReference(bound=8.0, anew=10.0), 1: ChurnReference(bound=16.0, anew=20.0)},
)


def test_a_line_holds_the_mean_of_the_seeds():
    assert over_anew(CHURNED, CHURNED.outcomes[0]) == pytest.approx(0.1)
    lines = tables(CHURNED).splitlines()
    # 10 % and 30 % over packing anew, 37.5 % and 62.5 % over the bound; 300 and 600 pods in three days.
    assert "| a | +20.0 % | +10.0 % to +30.0 % | +50.0 % | +140.0 % | 150 | 10 | 3 | 80 s |" in lines
    assert "| b | +0.0 % | +0.0 % to +0.0 % | +25.0 % | +100.0 % | 0 | 10 | 3 | 80 s |" in lines
    # 26 in 72 hours, in months of 1,000 hours.
    assert "| 1 | a | 361 | +30.0 % | +62.5 % | 600 | 30 |" in lines


def test_tables_have_their_own_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- results -->\nold\n<!-- end of results -->\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    keep(page, "new", MARKS)
    assert page.read_text() == f"<!-- results -->\nold\n<!-- end of results -->\n{MARKS[0]}\nnew\n{MARKS[1]}\nafter\n"
    page.write_text("nothing")
    with pytest.raises(NoPlace, match="<!-- churn -->"):
        keep(page, "new", MARKS)


def test_an_unknown_side_is_told_with_those_that_are_known():
    with pytest.raises(SystemExit, match="no side begins with Borg: there are Growth, empty only; "):
        main("Borg")
