"""What is known of the quality of plans: read, written, and compared with what is found."""

from dataclasses import replace

import pytest

from benchmarks.rows import ROWS, Quality, is_better, read_quality, with_best, worse, write_quality

KNOWN = Quality(unplaced=3, bound=1_000_000, cost=1_010_000, best=1_005_000)


def test_every_row_is_known_and_no_plan_is_below_its_bound():
    known = read_quality()
    assert list(known) == [str(row.case) for row in ROWS]
    for row in ROWS:
        quality = known[str(row.case)]
        assert 0 < quality.bound <= quality.best <= quality.cost, row.case


def test_names_of_rows_differ():
    assert len({str(row.case) for row in ROWS}) == len(ROWS)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "quality.json"
    assert read_quality(path) == {}
    write_quality({"a": KNOWN, "b": replace(KNOWN, cost=1)}, path)
    assert read_quality(path) == {"a": KNOWN, "b": replace(KNOWN, cost=1)}
    assert path.read_text().endswith("}\n")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (KNOWN, []),
        (replace(KNOWN, cost=1_010_900, bound=999_100), []),
        (replace(KNOWN, cost=1_020_100), ["the plan costs 1.00% more"]),
        (replace(KNOWN, bound=990_000), ["the proven bound is 1.00% lower"]),
        (
            replace(KNOWN, bound=990_000, cost=1_111_000),
            ["the plan costs 10.00% more", "the proven bound is 1.00% lower"],
        ),
        (replace(KNOWN, unplaced=4), ["4 pods have no machine, where it were 3"]),
        # More pods may cost more.
        (replace(KNOWN, unplaced=2, cost=2_000_000), []),
    ],
)
def test_what_is_worse_is_told(found, told):
    assert list(worse(found, KNOWN)) == told
    assert not is_better(found, KNOWN) or found.unplaced < 3


@pytest.mark.parametrize(
    ("found", "better"),
    [
        (replace(KNOWN, cost=1_000_000), True),
        (replace(KNOWN, bound=1_002_000), True),
        (replace(KNOWN, unplaced=2, cost=2_000_000), True),
        (replace(KNOWN, cost=1_009_900), False),
        (replace(KNOWN, unplaced=4, cost=1), False),
    ],
)
def test_what_is_better(found, better):
    assert is_better(found, KNOWN) is better


def test_the_best_plan_is_kept():
    assert with_best(KNOWN, None) == KNOWN
    assert with_best(replace(KNOWN, best=1_009_000), KNOWN).best == 1_005_000
    assert with_best(replace(KNOWN, best=1_004_000), KNOWN).best == 1_004_000
    # Of other pods, it is another best.
    assert with_best(replace(KNOWN, unplaced=2, best=1_009_000), KNOWN).best == 1_009_000
