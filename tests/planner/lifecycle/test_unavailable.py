"""The memory of misses and refusals: one per wait counts, each doubles it, and it fades.

Source: docs/design.md#unmet.
"""

from datetime import UTC, datetime, timedelta

import pytest

from planner.supply.unavailable import (
    FIRST_PAUSE,
    LONGEST,
    REMEMBERED_FOR,
    after_success,
    pause_in_force,
    unavailable_until,
    with_miss,
    with_refusal,
    with_success,
)

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
TTL = timedelta(seconds=120)


def missed(*times, ttl=TTL):
    entries = ()
    for at in times:
        entries = with_miss(entries, "cx22", "fsn1", ttl=ttl, now=at)
    return entries


def test_a_first_miss_leaves_the_offering_out_for_the_ttl():
    (entry,) = missed(NOW)
    assert (entry.failures, entry.last_failure_at, entry.until) == (1, NOW, NOW + TTL)


def test_a_miss_within_the_wait_does_not_count():
    (entry,) = missed(NOW, NOW + TTL / 2)
    assert (entry.failures, entry.last_failure_at, entry.until) == (1, NOW + TTL / 2, NOW + TTL)


def test_each_further_miss_doubles_the_wait_up_to_an_hour():
    at, waits = NOW, []
    entries = ()
    for _ in range(8):
        entries = with_miss(entries, "cx22", "fsn1", ttl=TTL, now=at)
        waits.append((entries[0].until - at) // timedelta(seconds=1))
        at = entries[0].until
    assert waits == [120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_ttl_above_an_hour_is_not_shortened():
    long = 3 * LONGEST
    (entry,) = missed(NOW, NOW + long, ttl=long)
    assert (entry.failures, entry.until) == (2, NOW + 2 * long)


def test_many_misses_do_not_overflow():
    at = NOW
    entries = ()
    for _ in range(200):
        entries = with_miss(entries, "cx22", "fsn1", ttl=timedelta(days=3650), now=at)
        at = entries[0].until
        if at.year > 9000:
            break
    assert entries[0].until - entries[0].last_failure_at == timedelta(days=3650)


def test_a_miss_long_after_the_last_wait_begins_anew():
    (entry,) = missed(NOW, NOW + TTL + REMEMBERED_FOR)
    assert (entry.failures, entry.until - entry.last_failure_at) == (1, TTL)
    (entry,) = missed(NOW, NOW + TTL + REMEMBERED_FOR - timedelta(seconds=1))
    assert (entry.failures, entry.until - entry.last_failure_at) == (2, 2 * TTL)


def test_entries_that_are_no_longer_remembered_are_dropped_with_the_next_miss():
    entries = with_miss((), "old", "fsn1", ttl=TTL, now=NOW)
    entries = with_miss(entries, "new", "fsn1", ttl=TTL, now=NOW + TTL + REMEMBERED_FOR)
    assert [entry.server_type for entry in entries] == ["new"]


def test_offerings_are_remembered_apart():
    entries = with_miss(missed(NOW), "cx22", "nbg1", ttl=TTL, now=NOW + TTL / 2)
    assert unavailable_until(entries, "cx22", "fsn1", NOW + TTL) is None
    assert unavailable_until(entries, "cx22", "nbg1", NOW + TTL) == NOW + TTL * 1.5
    assert unavailable_until(entries, "cx32", "fsn1", NOW) is None


def test_it_may_be_tried_again_from_its_moment_on():
    entries = missed(NOW)
    assert unavailable_until(entries, "cx22", "fsn1", NOW + TTL - timedelta(microseconds=1)) == NOW + TTL
    assert unavailable_until(entries, "cx22", "fsn1", NOW + TTL) is None


@pytest.mark.parametrize(("asked_after", "left"), [(timedelta(0), 0), (TTL, 0), (timedelta(seconds=-1), 1)])
def test_a_success_ends_the_memory_of_misses_from_before_its_call(asked_after, left):
    assert len(with_success(missed(NOW), "cx22", "fsn1", asked_at=NOW + asked_after)) == left


def test_a_success_of_another_offering_changes_nothing():
    assert with_success(missed(NOW), "cx22", "nbg1", asked_at=NOW) == missed(NOW)


def refused(*times):
    pause = None
    for at in times:
        pause = with_refusal(pause, f"refused at {at:%M:%S}", now=at)
    return pause


def test_a_first_refusal_pauses_for_five_minutes():
    pause = refused(NOW)
    assert (pause.failures, pause.last_failure_at, pause.until) == (1, NOW, NOW + timedelta(minutes=5))
    assert pause.message == "refused at 00:00"


def test_each_further_refusal_doubles_the_pause_up_to_an_hour():
    at, waits = NOW, []
    pause = None
    for _ in range(7):
        pause = with_refusal(pause, "no more", now=at)
        waits.append((pause.until - at) // timedelta(minutes=1))
        at = pause.until
    assert waits == [5, 10, 20, 40, 60, 60, 60]
    assert pause.failures == 7


def test_a_refusal_within_the_pause_does_not_count():
    pause = refused(NOW, NOW + FIRST_PAUSE / 2)
    assert (pause.failures, pause.until) == (1, NOW + FIRST_PAUSE)
    assert pause.last_failure_at == NOW + FIRST_PAUSE / 2


def test_a_refusal_long_after_the_last_pause_begins_anew():
    assert refused(NOW, NOW + FIRST_PAUSE + REMEMBERED_FOR).failures == 1
    late = refused(NOW, NOW + FIRST_PAUSE + REMEMBERED_FOR - timedelta(seconds=1))
    assert (late.failures, late.until - late.last_failure_at) == (2, 2 * FIRST_PAUSE)
    assert late.message == "refused at 04:59"


def test_a_pause_is_over_from_its_moment_on():
    pause = refused(NOW)
    assert pause_in_force(pause, pause.until - timedelta(microseconds=1)) == pause
    assert pause_in_force(pause, pause.until) is None
    assert pause_in_force(None, NOW) is None


def test_only_a_server_that_was_asked_for_after_the_pause_ends_the_memory_of_it():
    pause = refused(NOW)
    assert after_success(pause, asked_at=pause.until - timedelta(seconds=1)) == pause
    assert after_success(pause, asked_at=pause.until) is None
    assert after_success(None, asked_at=NOW) is None
