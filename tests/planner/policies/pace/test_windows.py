"""Windows of budgets, in zones whose clocks are changed. Expected times: IANA time zone database, 2026a.

Europe/Berlin changes at 02:00 and 03:00 by an hour, America/Sao_Paulo did at midnight until 2019, Australia/Lord_Howe
by half an hour, Asia/Kolkata never and is 5:30 ahead.
"""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.v1alpha1.pool_parts.window import WEEKDAYS
from api.v1alpha1.removal_budget import RemovalBudget
from planner.policies.pace.time_zones import time_zone, zone_names
from planner.policies.pace.windows import is_open, next_change
from tests.tables import rows

BERLIN, SAO_PAULO, KOLKATA, LORD_HOWE = "Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe"


def at(text):
    return datetime.fromisoformat(f"{text}+00:00")


def window(zone, start=None, end=None, *days):
    times = {} if start is None else {"start": start, "end": end}
    return RemovalBudget(nodes="1", timezone=zone, days=days or None, **times)


@rows(
    ("budget", "now", "opens", "closes"),
    {
        "always": (RemovalBudget(nodes="1"), "2026-03-01T12:00", None, None),
        "without a zone": (window(None, "09:00", "17:00"), "2026-03-01T08:59", "2026-03-01T09:00", "2026-03-01T17:00"),
        "in winter": (window(BERLIN, "09:00", "17:00"), "2026-03-01T07:59", "2026-03-01T08:00", "2026-03-01T16:00"),
        "in summer": (window(BERLIN, "09:00", "17:00"), "2026-07-01T05:00", "2026-07-01T07:00", "2026-07-01T15:00"),
        "on Monday": (
            window(BERLIN, "09:00", "17:00", "Mon"),
            "2026-03-28T12:00",  # clocks go forward on the 29th
            "2026-03-30T07:00",
            "2026-03-30T15:00",
        ),
        "past midnight, of the day it starts on": (
            window(KOLKATA, "22:00", "04:30", "Sat"),
            "2026-03-07T12:00",  # a Saturday
            "2026-03-07T16:30",
            "2026-03-07T23:00",  # Sunday, 04:30
        ),
        "whole days": (
            window(KOLKATA, None, None, "Sat", "Sun"),
            "2026-03-04T00:00",
            "2026-03-06T18:30",
            "2026-03-08T18:30",
        ),
        "a day of 23 hours": (
            window(BERLIN, None, None, "Sun"),
            "2026-03-28T12:00",
            "2026-03-28T23:00",
            "2026-03-29T22:00",
        ),
        "a day of 25 hours": (
            window(BERLIN, None, None, "Sun"),
            "2026-10-24T12:00",
            "2026-10-24T22:00",
            "2026-10-25T23:00",
        ),
        "begins in the hour that is left out": (
            window(BERLIN, "02:30", "04:00"),
            "2026-03-28T12:00",
            "2026-03-29T01:00",  # clocks go from 01:59 to 03:00
            "2026-03-29T02:00",
        ),
        "all of it is left out, on that day": (
            window(BERLIN, "02:15", "02:45", "Sun"),
            "2026-03-28T12:00",
            "2026-04-05T00:15",
            "2026-04-05T00:45",
        ),
        "begins at a midnight that is left out": (
            window(SAO_PAULO, "00:00", "00:30", "Sun", "Mon"),
            "2018-11-03T12:00",  # at midnight to Sunday, the 4th, it is 01:00 at once
            "2018-11-05T02:00",
            "2018-11-05T02:30",
        ),
        "a day that begins at one": (
            window(SAO_PAULO, None, None, "Sun"),
            "2018-11-03T12:00",
            "2018-11-04T03:00",
            "2018-11-05T02:00",
        ),
        "ends in the half hour that comes twice": (
            window(LORD_HOWE, "01:00", "01:45", "Sun"),
            "2026-04-04T12:00",  # on Sunday, the 5th, 02:00 is 01:30 once more
            "2026-04-04T14:00",
            "2026-04-04T14:45",
        ),
        "half an hour is left out": (
            window(LORD_HOWE, "02:10", "03:00", "Sun"),
            "2026-10-03T12:00",  # on Sunday, the 4th, 02:00 is 02:30
            "2026-10-03T15:30",
            "2026-10-03T16:00",
        ),
        "a zone that does not exist, at all times": (
            window("Mars/Olympus", "09:00", "17:00"),
            "2026-03-01T03:00",
            None,
            None,
        ),
    },
)
def test_when_a_window_opens_and_closes(budget, now, opens, closes):
    assert is_open(budget, at(now)) == (opens is None)
    assert next_change(budget, at(now)) == (None if opens is None else at(opens))
    if opens is not None:
        assert is_open(budget, at(opens))
        assert not is_open(budget, at(opens) - timedelta(seconds=1))
        assert next_change(budget, at(opens)) == at(closes)
        assert not is_open(budget, at(closes))
        assert is_open(budget, at(closes) - timedelta(seconds=1))


def test_what_comes_twice_opens_twice():
    twice = window(BERLIN, "02:15", "02:45", "Sun")
    now, changes = at("2026-10-24T12:00"), []
    while len(changes) < 4:
        now = next_change(twice, now)
        changes.append(f"{now:%H:%M}")
    assert changes == ["00:15", "00:45", "01:15", "01:45"]


CLOCK = st.builds("{:02}:{:02}".format, st.sampled_from([0, 1, 2, 3, 9, 23]), st.sampled_from([0, 15, 30, 45]))
CHANGES = st.sampled_from(
    [
        (BERLIN, "2026-03-27T00:00"),
        (BERLIN, "2026-10-23T00:00"),
        (SAO_PAULO, "2018-11-02T00:00"),
        (SAO_PAULO, "2018-02-15T00:00"),
        (KOLKATA, "2026-03-01T00:00"),
        (LORD_HOWE, "2026-04-03T00:00"),
        (LORD_HOWE, "2026-10-02T00:00"),
    ]
)


@given(CHANGES, st.tuples(CLOCK, CLOCK), st.sets(st.sampled_from(WEEKDAYS)), st.integers(0, 5000))
def test_the_next_change_is_the_first_minute_at_which_it_is_otherwise(where, times, days, minutes):
    zone, begins = where
    start, end = times if times[0] != times[1] else (None, None)
    budget = window(zone, start, end, *days)
    now = at(begins) + timedelta(minutes=minutes)
    # Changes of clocks and all times here are at whole quarters.
    looked_at = now - timedelta(minutes=now.minute % 15)
    expected = next(
        (
            moment
            for i in range(1, 16 * 96)
            if is_open(budget, moment := looked_at + timedelta(minutes=15 * i)) != is_open(budget, now)
        ),
        None,
    )
    assert next_change(budget, now) == expected


@pytest.mark.parametrize(
    "name", ["localtime", "posixrules", "right/UTC", "Africa", "europe/berlin", "", "../UTC", "tzdata.zi"]
)
def test_a_file_of_the_host_is_no_zone(name):
    assert time_zone(name or "/") is None
    assert name not in zone_names()


def test_every_zone_can_be_read():
    assert len(zone_names()) > 500
    assert all(time_zone(name) is not None for name in zone_names())
    assert time_zone(None).key == "UTC"


def test_fifty_windows_cost_a_few_milliseconds():
    budgets = [window(BERLIN, f"{i % 20:02}:00", f"{i % 20 + 1:02}:30", WEEKDAYS[i % 7]) for i in range(50)]
    next_change(budgets[0], datetime(2026, 3, 27, tzinfo=UTC))
    began = time.process_time()
    assert all(next_change(budget, datetime(2026, 3, 27, tzinfo=UTC)) for budget in budgets)
    assert time.process_time() - began < 0.1  # measured: 2 ms
