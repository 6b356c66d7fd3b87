"""Schedules: bounds of a pool in certain hours, obeyed by all that asks for bounds. NOW is a Sunday, 12:00 UTC."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.v1alpha1.node_pool import NodePool
from planner.plan import plan
from planner.policies.pace.schedule import bounds_in_force, schedules_in_force
from tests.builders import NOW, node, node_pool, pod
from tests.planner.policies.triggers.fleet import condition
from tests.planner.scenes import scene
from tests.tables import rows

OPEN, SHUT = {"days": ["Sun"]}, {"days": ["Mon"]}
NOON = {"start": "11:00", "end": "13:00"}
NOWHERE = {"timezone": "Mars/Olympus"}


def bounds(*windows, at=NOW, **limits):
    pool = NodePool.model_validate(node_pool(schedule=list(windows), limits={"max": 10} | limits))
    made = bounds_in_force(pool, at)
    return (made.min, made.max), None if made.fault is None else made.fault.code


@rows(
    ("windows", "limits", "wanted", "fault"),
    {
        "none is open": ([SHUT | {"min": 3, "max": 4}], {"min": 1}, (1, 10), None),
        "one is open": ([OPEN | {"min": 3, "max": 4}], {"min": 1}, (3, 4), None),
        "only its min": ([OPEN | {"min": 3}], {"min": 1}, (3, 10), None),
        "only its max": ([OPEN | {"max": 4}], {"min": 1}, (1, 4), None),
        "less than at other times": ([OPEN | {"min": 0, "max": 40}], {"min": 1}, (0, 40), None),
        "several: the strictest": (
            [OPEN | {"min": 3, "max": 9}, OPEN | {"min": 2, "max": 8}, SHUT | {"min": 7, "max": 7}],
            {},
            (3, 8),
            None,
        ),
        "min of one above max of another": ([OPEN | {"min": 5}, OPEN | {"max": 3}], {}, (3, 3), "MinAboveMax"),
        "min above the pool's max": ([OPEN | {"min": 12}], {}, (10, 10), "MinAboveMax"),
        "unknown zone: the larger min, the smaller max": (
            [OPEN | NOWHERE | {"min": 3, "max": 4}],
            {"min": 1},
            (3, 4),
            "UnknownTimeZone",
        ),
        "unknown zone: it lets nothing more go, and nothing more be bought": (
            [OPEN | NOWHERE | {"min": 1, "max": 40}],
            {"min": 2},
            (2, 10),
            "UnknownTimeZone",
        ),
        "unknown zone beside an open window": (
            [OPEN | {"min": 5, "max": 20}, NOWHERE | NOON | {"min": 4, "max": 15}],
            {"min": 1},
            (5, 15),
            "UnknownTimeZone",
        ),
    },
)
def test_bounds(windows, limits, wanted, fault):
    assert bounds(*windows, **limits) == (wanted, fault)


@rows(
    ("start", "end", "hour", "is_open"),
    {
        # VPSie, pkg/events/policies_test.go: [22, 2) is open at 23, 1 and 22, and not at 2 and 12; [0, 24) always.
        "[22,2) at 23": ("22:00", "02:00", 23, True),
        "[22,2) at 1": ("22:00", "02:00", 1, True),
        "[22,2) at 22": ("22:00", "02:00", 22, True),
        "[22,2) at 2": ("22:00", "02:00", 2, False),
        "[22,2) at 12": ("22:00", "02:00", 12, False),
        "[0,24) at 12: no hours are said": (None, None, 12, True),
    },
)
def test_row_34_hours(start, end, hour, is_open):
    hours = {} if start is None else {"start": start, "end": end}
    made, _ = bounds(hours | {"min": 4}, at=NOW.replace(hour=hour))
    assert made == ((4, 10) if is_open else (0, 10))


def test_row_34_a_window_that_never_opens_is_refused():
    """[12, 12) is never open. VPSie takes it without a word; here whoever writes it is told."""
    with pytest.raises(ValueError, match="start and end are the same, so the window never opens"):
        bounds({"start": "12:00", "end": "12:00", "min": 1})


@rows(
    ("window", "why"),
    {
        "min above max": ({"min": 3, "max": 2}, "above max"),
        "min -1": ({"min": -1}, "greater than or equal to 0"),
        "max 0": ({"max": 0}, "greater than or equal to 1"),
        "no bound": ({"days": ["Sun"]}, "the window changes nothing"),
    },
)
def test_row_45_wrong_bounds_are_refused(window, why):
    with pytest.raises(ValueError, match=why):
        bounds(window)


def test_row_45_a_min_of_0_is_a_bound():
    assert bounds({"min": 0}, min=2) == ((0, 10), None)


def test_a_minimum_in_a_window_is_bought():
    of = scene(schedule=[OPEN | {"min": 2}], types=("cx22",))
    assert len(plan(of.snapshot()).requests) == 2
    assert plan(scene(schedule=[SHUT | {"min": 2}], types=("cx22",)).snapshot()).requests == ()


def test_a_maximum_in_a_window_bounds_what_is_bought():
    pods = [pod(f"web-{i}", "3") for i in range(3)]
    made = plan(scene(pods=pods, schedule=[OPEN | {"max": 1}], types=("cx32",)).snapshot())
    assert len(made.requests) == 1
    assert {reason.message for one in made.unplaced for reason in one.reasons if reason.code == "LimitReached"} == {
        "pool default is at its max of 1 machines; raising it by 1 places at least 1 pod, on a cx32"
    }


def test_machines_above_the_max_of_a_window_go_as_those_above_limits_max_do():
    wish = {"scaleDown": {"mode": "drain", "budgets": [{"nodes": "100%"}]}, "schedule": [OPEN | {"max": 1}]}
    made = plan(scene(node("a"), node("b"), **wish).snapshot())
    (removal,) = made.removals
    assert (removal.reason, removal.why) == ("OverMax", "Pool default has more machines than its max in force, 1")


def test_a_minimum_in_a_window_keeps_idle_machines():
    idle = {"growth.dev/idle-since": "2026-01-01T00:00:00Z"}
    nodes = [node(name, annotations=idle) for name in "ab"]
    assert len(plan(scene(*nodes, schedule=[SHUT | {"min": 1}]).snapshot()).removals) == 2
    assert len(plan(scene(*nodes, schedule=[OPEN | {"min": 1}]).snapshot()).removals) == 1


def test_server_types_are_untouched_and_so_is_the_object():
    of = scene(types=({"name": "cx22", "min": 1, "max": 3},), schedule=[OPEN | {"min": 2, "max": 5}])
    given_pool = of.snapshot().pools[0]
    pool = schedules_in_force(of.snapshot()).pools[0]
    assert pool.spec.server_types == given_pool.spec.server_types
    assert (pool.metadata, pool.status) == (given_pool.metadata, given_pool.status)
    assert given_pool.spec.limits.max == 100


def test_the_next_round_comes_when_a_window_opens_or_closes():
    assert plan(scene(schedule=[NOON | {"max": 5}]).snapshot()).wake_at == NOW + timedelta(hours=1)
    later = {"start": "12:20", "end": "12:30"}
    assert plan(scene(schedule=[NOON | {"max": 5}, later | {"max": 4}]).snapshot()).wake_at == NOW + timedelta(
        minutes=20
    )


def test_what_is_in_force_is_told():
    (report,) = plan(scene(schedule=[NOON | {"min": 0, "max": 5}]).snapshot()).pools
    assert report.bounds == "min 0, max 5 by its schedule until 2026-03-01 13:00:00 UTC"
    (report,) = plan(scene(schedule=[SHUT | {"max": 5}]).snapshot()).pools
    assert report.bounds == ""


def test_a_schedule_that_cannot_be_kept_is_told_by_a_condition_until_it_can():
    of = scene(schedule=[OPEN | {"min": 200}])
    told = condition(of, "ScheduleInvalid")
    assert (told.status, told.reason) == ("True", "MinAboveMax")
    assert told.message == "the bounds in force are min 200 and max 100: max holds, so 100 machines are kept"
    of.pools[0]["status"] = {"conditions": [told.to_json()]}
    of.pools[0]["spec"]["schedule"] = [OPEN | {"min": 1}]
    assert (condition(of, "ScheduleInvalid").status, condition(of, "ScheduleInvalid").reason) == (
        "False",
        "ScheduleValid",
    )


windows = st.fixed_dictionaries(
    {"max": st.integers(3, 9)},
    optional={"min": st.integers(0, 3), "days": st.just(["Sat", "Sun"]), "timezone": st.just("Europe/Berlin")},
)


@settings(max_examples=60)
@given(st.lists(windows, max_size=4), st.integers(0, 10_000))
def test_bounds_are_those_of_windows_or_of_the_pool_and_applying_them_twice_changes_nothing(drawn, minutes):
    at = datetime.fromisoformat("2026-03-01T00:00:00+00:00") + timedelta(minutes=minutes)
    of = scene(schedule=drawn or None, limits={"min": 1, "max": 6})
    of.now = at
    once = schedules_in_force(of.snapshot())
    assert schedules_in_force(once) == once
    limits = once.pools[0].spec.limits
    assert 0 <= limits.min <= limits.max
    assert limits.max in {6, *(each["max"] for each in drawn)}
