from datetime import UTC, datetime, timedelta

from api.v1alpha1.lifecycle import add_event

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_events_are_added_at_the_end_and_the_last_twenty_stay():
    events = ()
    for number in range(25):
        events = add_event(events, f"Event{number}", "why", NOON + timedelta(seconds=number))
    assert [event.name for event in events] == [f"Event{number}" for number in range(5, 25)]
    assert events[-1].at == NOON + timedelta(seconds=24)


def test_a_long_reason_is_cut_to_what_the_schema_takes():
    (event,) = add_event((), "Failed", "x" * 2000, NOON)
    assert event.reason == "x" * 512
