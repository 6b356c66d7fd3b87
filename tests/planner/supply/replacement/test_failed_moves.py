"""The memory of moves that failed, on the Node. Source: docs/design.md#replacement."""

from datetime import timedelta

import pytest

from api.keys import ANNOTATION_MOVE_FAILED
from planner.supply.replacement.failed_moves import FailedMove, after_failure, read_failed_move
from tests.builders import NOW


def noted(value):
    return {ANNOTATION_MOVE_FAILED: value}


def test_the_wait_doubles_with_each_failure_in_a_row():
    annotations, now, waits = {}, NOW, []
    for _ in range(9):
        annotations = noted(after_failure(annotations, now))
        failed = read_failed_move(annotations)
        waits.append(failed.until - now)
        now = failed.until
    hours = [timedelta(hours=each) for each in (0.25, 0.5, 1, 2, 4, 8, 16, 24, 24)]
    assert waits == hours
    assert failed.times == len(waits)


@pytest.mark.parametrize(("later", "times"), [(timedelta(hours=23, minutes=59), 2), (timedelta(hours=24), 1)])
def test_a_failure_is_forgotten_a_day_after_its_wait(later, times):
    failed = read_failed_move(noted(after_failure({}, NOW)))
    assert read_failed_move(noted(after_failure(noted(after_failure({}, NOW)), failed.until + later))).times == times


@pytest.mark.parametrize(
    "value", ["", "soon", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z many", f"{'9' * 99} 1", "x 1"]
)
def test_what_cannot_be_read_is_no_failure(value):
    assert read_failed_move(noted(value)) is None


def test_a_count_that_somebody_wrote_has_an_end():
    failed = read_failed_move(noted(after_failure(noted("2026-03-01T12:00:00Z 999"), NOW)))
    assert failed == FailedMove(NOW + timedelta(hours=24), 99)
