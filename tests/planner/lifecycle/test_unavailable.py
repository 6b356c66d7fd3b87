"""The memory of misses: one per wait counts, each doubles the wait, and it fades. Source: design §4, Unmet."""

from datetime import UTC, datetime, timedelta

import pytest

from planner.lifecycle.unavailable import LONGEST, REMEMBERED_FOR, unavailable_until, with_miss, with_success

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
