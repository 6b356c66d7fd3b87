from datetime import UTC, datetime

from workflows.messages import PlannerReport
from workflows.planner_details import ABOUT, round_details

AT = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DONE = PlannerReport(
    round=7,
    result="IncompletePlacement",
    summary="IncompletePlacement, 1 pod without a place",
    failures=0,
    next_at=AT,
    nudges=(),
)


def test_between_rounds_the_last_and_the_next_are_told():
    assert round_details(DONE, began_at=None).split("\n") == [
        "**Round 7** · IncompletePlacement",
        "",
        "IncompletePlacement, 1 pod without a place",
        "",
        "- Next round: **2026-11-01 12:00:00 UTC**, or at once when something changes",
    ]


def test_during_a_round_its_beginning_is_told_and_what_is_told_of_the_last_says_so():
    text = round_details(DONE.model_copy(update={"next_at": None}), began_at=AT)
    assert text.startswith("**Round 7** · runs\n")
    assert "Last round: IncompletePlacement, 1 pod without a place" in text
    assert "- Runs since 2026-11-01 12:00:00 UTC" in text
    assert "Next round" not in text


def test_failed_rounds_tell_what_that_means_and_that_a_nudge_does_not_help():
    report = DONE.model_copy(update={"failures": 3, "summary": "Round failed: Unreachable: no answer"})
    text = round_details(report, began_at=None)
    assert text.startswith("**Round 7** · failed\n\nRound failed: Unreachable: no answer\n")
    assert "- **3 failed** in a row: nothing is decided meanwhile; machines in course go on" in text
    assert "at once" not in text


def test_what_the_planner_is_fits_beside_it():
    assert len(ABOUT.encode()) < 1024
