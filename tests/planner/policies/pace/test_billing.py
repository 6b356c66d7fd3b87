"""Paid hours: an empty machine stays as room until shortly before the period ends that it was paid for.

Source: Hetzner Cloud docs, "Billing FAQ": each begun hour is billed, from the creation on.
"""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan import plan
from planner.policies.pace.billing import goes_at
from planner.supply.machines import Machine
from tests.builders import NOW, before, kwok_node_class, node, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene
from tests.tables import rows

HOURLY = kwok_node_class(billing={"period": "1h"})
MINUTE = timedelta(minutes=1)


def idle(minutes, created, **changes):
    made = node("n", annotations={"growth.dev/idle-since": before(minutes=minutes)}, **changes)
    made["metadata"]["creationTimestamp"] = created
    return made


def hourly(*nodes, **more):
    given = scene(*nodes, **more)
    given.classes[:] = [HOURLY]
    return given


@rows(
    ("created", "empty_for", "spec", "goes_in"),
    {
        "until 5 min before the end, cool-off counted in": (20, 11, {}, 34),
        "a longer cool-off begins earlier": (20, 11, {"softGrace": "20m"}, 15),
        "in its third hour": (140, 11, {}, 34),
        "now is the time": (54, 11, {}, 0),
        "a round that comes late still goes within the hour": (58, 11, {}, 0),
        "too late for this hour": (59, 11, {}, 55),
        "the hour is over at this moment": (60, 11, {}, 54),
        "not empty for long enough before the end": (57, 6, {}, 57),
        "idleAfter ends in the last minutes": (53, 5, {}, 5),
        "idleAfter of more than an hour": (20, 1, {"idleAfter": "90m"}, 94),
        "a cool-off longer than the hour": (20, 11, {"softGrace": "90m"}, 5),
    },
)
def test_when_an_empty_machine_goes(created, empty_for, spec, goes_in):
    made = planned(hourly(idle(empty_for, before(minutes=created)), scaleDown=spec))
    assert [r.node for r in made.removals] == ([] if goes_in else ["n"])
    assert made.wake_at == (NOW + goes_in * MINUTE if goes_in else None)


def test_without_a_period_it_goes_as_before():
    assert [r.node for r in planned(scene(idle(11, before(minutes=20)))).removals] == ["n"]


def test_the_server_is_older_than_its_node():
    given = hourly(
        idle(11, before(minutes=50)),
        requests=[
            node_request(
                "n",
                phase="Ready",
                createAttemptAt=before(minutes=54),
                readyAt=before(minutes=50),
                releasedAt=before(minutes=49),
            )
        ],
    )
    assert [r.node for r in planned(given).removals] == ["n"]


def test_pods_find_it_meanwhile():
    given = hourly(idle(11, before(minutes=20)), pods=[pod("late")])
    made = planned(given)
    assert ([p.node for p in made.placed], made.requests) == (["n"], ())


@pytest.mark.parametrize("created", [None, before(minutes=-30)], ids=["unknown", "to come"])
def test_a_machine_of_unknown_age_goes_as_before(created):
    assert [r.node for r in planned(hourly(idle(11, created))).removals] == ["n"]


def test_a_dead_one_does_not_wait():
    dead = idle(0, before(minutes=20), ready=False)
    dead["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": before(minutes=15)}]
    stuck = pod("db-0", node="n")
    stuck["metadata"]["deletionTimestamp"] = before(minutes=9)
    given = hourly(dead, node("a"), node("b"), pods=[stuck], scaleDown={"repair": {"after": "10m"}})
    assert [(r.node, r.reason) for r in plan(given.snapshot()).removals] == [("n", "Dead")]


@given(
    st.integers(1, 10_000), st.integers(0, 400), st.integers(-300, 300), st.sampled_from([1, 7, 30, 60, 1440, 43_200])
)
def test_it_is_deleted_within_what_is_paid_and_not_long_before_the_end(age, grace, ripe_in, period):
    machine = Machine("n", request=None, node=planned_node(age))
    period, grace, ripe_at = period * MINUTE, grace * MINUTE, NOW + ripe_in * MINUTE
    at = max(NOW, goes_at(machine, period, grace, ripe_at=ripe_at, now=NOW))
    assert at >= ripe_at
    deleted = at + grace - (NOW - age * MINUTE)
    left = period - deleted % period
    assert left >= min(MINUTE, period)
    # It goes earlier than five minutes before the end only as far as what goes now is concerned: never.
    assert left <= max(5 * MINUTE, MINUTE) or period < 5 * MINUTE
    assert at - max(NOW, ripe_at) <= period


def planned_node(age):
    given = scene(idle(0, before(minutes=age))).snapshot()
    return given.nodes[0]
