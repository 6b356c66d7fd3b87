from datetime import UTC, datetime, timedelta

import pytest

from planner.model.plan import PlanResult
from planner.model.round import RoundResult
from planner.policies.next_round import pause_after, pause_after_failures

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUIET = RoundResult(result=PlanResult.NO_DEMANDS, summary="nothing to do")


@pytest.mark.parametrize(
    ("done", "seconds"),
    [
        ({}, 60),
        ({"is_open": True}, 10),
        ({"wake_at": NOW + timedelta(seconds=7)}, 7),
        ({"wake_at": NOW + timedelta(seconds=90)}, 60),
        ({"is_open": True, "wake_at": NOW + timedelta(seconds=20)}, 10),
        ({"wake_at": NOW + timedelta(milliseconds=3)}, 1),
        ({"wake_at": NOW - timedelta(seconds=3)}, 1),
    ],
)
def test_the_next_round_comes_after(done, seconds):
    assert pause_after(QUIET.model_copy(update=done), NOW) == timedelta(seconds=seconds)


def test_what_was_left_over_is_done_at_once():
    left = QUIET.model_copy(update={"is_partial": True, "wake_at": NOW + timedelta(seconds=7)})
    assert pause_after(left, NOW) is None


def test_failed_rounds_are_repeated_more_and_more_slowly():
    assert [pause_after_failures(n).total_seconds() for n in (1, 2, 3, 5, 6, 2000)] == [1, 2, 4, 16, 30, 30]
