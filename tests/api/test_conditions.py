from datetime import UTC, datetime, timedelta

import pytest

from api.meta import Condition, set_condition

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


@pytest.mark.parametrize(("status", "word"), [(True, "True"), (False, "False"), (None, "Unknown")])
def test_a_first_condition_carries_everything(status, word):
    assert set_condition((), "Ready", status=status, reason="Seen", message="m", now=NOON, generation=3) == (
        Condition(
            type="Ready", status=word, reason="Seen", message="m", last_transition_time=NOON, observed_generation=3
        ),
    )


@pytest.mark.parametrize("before", [True, False, None])
@pytest.mark.parametrize("after", [True, False, None])
def test_its_time_moves_only_when_its_status_changes(before, after):
    first = set_condition((), "Ready", status=before, reason="One", now=NOON, generation=1)
    (second,) = set_condition(first, "Ready", status=after, reason="Two", message="new", now=LATER, generation=2)
    assert second.last_transition_time == (NOON if before == after else LATER)
    assert (second.reason, second.message, second.observed_generation) == ("Two", "new", 2)


def test_others_keep_their_place_and_content():
    conditions = set_condition((), "Ready", status=True, reason="A", now=NOON)
    conditions = set_condition(conditions, "AtMax", status=False, reason="B", now=NOON)
    changed = set_condition(conditions, "Ready", status=False, reason="C", now=LATER)
    assert [c.type for c in changed] == ["Ready", "AtMax"]
    assert changed[1] == conditions[1]


def test_a_message_of_any_length_is_cut_to_what_the_schema_takes():
    (condition,) = set_condition((), "Ready", status=True, reason="A", message="x" * 5000, now=NOON)
    assert condition.message == "x" * 1024
