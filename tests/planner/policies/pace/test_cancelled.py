"""Removals that a person cancelled rest."""

from datetime import timedelta

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from planner.plan import plan
from planner.policies.pace.cancelled import held_until, marks_of_cancel
from tests.builders import NOW, before, node, pod
from tests.planner.policies.pace.test_budgets import Trigger
from tests.planner.policies.test_repair import dead, stuck
from tests.planner.scenes import scene
from tests.tables import rows

HOUR = timedelta(hours=1)
AT, TIMES = "growth.dev/removal-cancelled-at", "growth.dev/removals-cancelled"


@rows(
    ("annotations", "hours"),
    {
        "never cancelled": ({}, None),
        "just now": ({AT: before(), TIMES: "1"}, 1),
        "an hour ago": ({AT: before(hours=1), TIMES: "1"}, None),
        "the second time": ({AT: before(hours=1), TIMES: "2"}, 1),
        "the third time": ({AT: before(), TIMES: "3"}, 4),
        "the fifth time": ({AT: before(), TIMES: "5"}, 16),
        "the sixth time": ({AT: before(), TIMES: "6"}, 24),
        "the ninth time": ({AT: before(), TIMES: "9"}, 24),
        "without a number": ({AT: before()}, 1),
        "garbage for a number": ({AT: before(), TIMES: "many"}, 1),
        "a number below one": ({AT: before(), TIMES: "-3"}, 1),
        "zero": ({AT: before(), TIMES: "0"}, 1),
        "a huge number": ({AT: before(), TIMES: "9" * 5000}, 1),
        "other digits": ({AT: before(), TIMES: "²"}, 1),
        "garbage for a time": ({AT: "yesterday", TIMES: "4"}, None),
        "a time without a zone": ({AT: "2026-03-01T12:00:00"}, None),
        "a little ahead, as clocks differ": ({AT: before(seconds=-30)}, 1 + 30 / 3600),
        "a time to come": ({AT: before(hours=-2), TIMES: "2"}, None),
    },
)
def test_until_when_a_node_is_held(annotations, hours):
    assert held_until(annotations, NOW) == (None if hours is None else NOW + hours * HOUR)


def test_each_further_cancel_doubles_the_pause_until_it_was_quiet_for_long():
    annotations, at, pauses = {}, NOW, []
    for _ in range(8):
        annotations |= marks_of_cancel(annotations, at)
        assert marks_of_cancel(annotations, at) == {}, "written twice it counts once"
        pauses.append((held_until(annotations, at) - at) // HOUR)
        at = held_until(annotations, at) + HOUR
    assert pauses == [1, 2, 4, 8, 16, 24, 24, 24]
    within = marks_of_cancel(annotations, at - HOUR + timedelta(hours=24))
    assert within[TIMES] == "9"
    assert marks_of_cancel(annotations, at + timedelta(hours=24))[TIMES] == "1"


@rows(
    ("last", "times"),
    {
        "garbage": ({AT: "x", TIMES: "4"}, "1"),
        "written by a clock that was ahead": ({AT: before(hours=-2), TIMES: "4"}, "1"),
        "a number that is garbage": ({AT: before(minutes=5), TIMES: "x"}, "2"),
    },
)
def test_what_cannot_be_is_no_earlier_cancel(last, times):
    assert marks_of_cancel(last, NOW)[TIMES] == times


@drawn(st.dictionaries(st.sampled_from([AT, TIMES]), st.text(max_size=30)))
def test_nothing_that_people_write_there_stops_a_round(annotations):
    until = held_until(annotations, NOW)
    assert until is None or NOW < until <= NOW + timedelta(hours=24, minutes=1)
    assert set(marks_of_cancel(annotations, NOW)) in ({AT, TIMES}, set())


CANCELLED = {AT: before(minutes=20), TIMES: "1", "growth.dev/idle-since": before(minutes=20)}


@pytest.mark.parametrize("reason", ["Drift", "Consolidation", "Rotation", "Repair", "OverMax", "TooOld"])
def test_it_is_not_begun_again_for_any_reason(reason):
    resident = pod("x", node="n", owner="web")
    given = scene(node("n", annotations=CANCELLED), pods=[resident], scaleDown={"mode": "drain"})
    made = plan(given.snapshot(), policies=[Trigger(("n",), reason)])
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(minutes=40))
    (held,) = made.blocked
    assert (held.trigger, held.reason) == (reason, "CancelledByPerson")
    assert held.why == ("a person cancelled its removal, and until 2026-03-01 12:40:00 UTC none is begun by itself")
    given.now += timedelta(minutes=40)
    assert len(plan(given.snapshot(), policies=[Trigger(("n",), reason)]).removals) == 1


def test_an_empty_one_goes_after_the_pause_without_being_empty_anew():
    given = scene(node("n", annotations=CANCELLED))
    made = plan(given.snapshot())
    assert (made.removals, made.idle_since, made.wake_at) == ((), {}, NOW + timedelta(minutes=40))
    given.now += timedelta(minutes=40)
    assert [r.node for r in plan(given.snapshot()).removals] == ["n"]


def test_a_dead_one_rests_too():
    given = scene(
        dead("x", annotations={AT: before(minutes=30)}),
        node("a"),
        node("b"),
        pods=[stuck("db", "x")],
        scaleDown={"repair": {"after": "10m"}},
    )
    assert [r.node for r in plan(given.snapshot()).removals] == []
    given.nodes[0]["metadata"]["annotations"] = {}
    assert [r.node for r in plan(given.snapshot()).removals] == ["x"]
