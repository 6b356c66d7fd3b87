"""Machines that are too old go, the oldest first, each in the last tenth of the age.

Source: atlassian/escalator, docs/configuration/nodegroup.md, `max_node_age`; its issues on many nodes at one moment.
"""

from datetime import UTC, datetime, timedelta

import pytest

from planner.objects.kinds import Node
from planner.plan import plan
from planner.policies.triggers.rotation import rotates_at
from tests.builders import before, node_removal_request, node_request, pod
from tests.planner.policies.triggers.fleet import aged, condition, leaving, with_pods
from tests.planner.scenes import scene
from tests.tables import rows

WEEK = {"rotation": {"maxNodeAge": "168h"}}
AT_MIN = {"rotation": {"maxNodeAge": "168h", "onlyAtMin": True}}
BORN = datetime(2026, 1, 1, tzinfo=UTC)


def of(name, born=BORN):
    return Node(name, f"uid-{name}", {}, created_at=born)


@rows(
    ("days", "goes"),
    {
        "young": (6, False),
        "in the last tenth of its age or before": (6.29, False),
        "old": (7, True),
        "much older": (700, True),
        "of a clock that was ahead": (-30, False),
    },
)
def test_which_ages_go(days, goes):
    assert leaving(with_pods(aged("n", days=days), **WEEK)) == ([("n", "Rotation")] if goes else [])


def test_it_says_since_when_it_has_been_there_and_what_replaces_it():
    made = plan(with_pods(aged("n", days=7), **WEEK).snapshot())
    (removal,) = made.removals
    why = "Here since 2026-02-22T12:00:00Z: it is replaced before it is older than rotation.maxNodeAge"
    assert removal.why == why
    assert [(request.ordinal, [seat.name for seat in request.seats]) for request in made.requests] == [(0, ["on-n"])]
    assert (removal.replacement, removal.moves, removal.saving_per_hour) == ((0,), (), None)


def test_a_pool_without_the_field_is_as_before():
    given = with_pods(aged("n", days=4000))
    made = plan(given.snapshot())
    assert (made.removals, made.requests, made.wake_at) == ((), (), None)
    assert condition(given, "TooOld") is None


def test_a_node_that_does_not_tell_its_age_stays():
    given = with_pods(aged("n"), **WEEK)
    del given.nodes[0]["metadata"]["creationTimestamp"]
    assert leaving(given) == []


def test_the_moment_is_in_the_last_tenth_and_wakes_the_round():
    given = with_pods(aged("n", days=6), **WEEK)
    made = plan(given.snapshot())
    snapshot = given.snapshot()
    at = rotates_at(snapshot.nodes[0], timedelta(days=7))
    assert made.wake_at == at
    assert timedelta(days=6.3) <= at - snapshot.nodes[0].created_at <= timedelta(days=7)


def test_machines_bought_together_are_spread_over_the_last_tenth():
    age = timedelta(days=30)
    moments = [rotates_at(of(f"pool-{number}"), age) for number in range(1000)]
    tenths = [
        sum(27 + 0.3 * i <= (m - BORN) / timedelta(days=1) < 27 + 0.3 * (i + 1) for m in moments) for i in range(10)
    ]
    assert sum(tenths) == 1000
    assert min(tenths) > 60
    assert max(tenths) < 140
    assert moments == [rotates_at(of(f"pool-{number}"), age) for number in range(1000)]


def test_a_new_machine_of_the_same_name_has_a_moment_of_its_own():
    one, other = Node("n", "uid-1", {}, created_at=BORN), Node("n", "uid-2", {}, created_at=BORN)
    assert rotates_at(one, timedelta(days=30)) != rotates_at(other, timedelta(days=30))


def test_the_oldest_is_first_and_a_few_are_asked_a_round():
    given = with_pods(*(aged(f"n{number:02}", days=8 + number) for number in range(30)), **WEEK)
    nodes = [node for node, _ in leaving(given)]
    assert len(nodes) == 10
    assert nodes[:5] == [f"n{number}" for number in (29, 28, 27, 26, 25)]


@rows(
    ("extra", "goes"),
    {
        "at its minimum": ([], True),
        "one machine above it": ([aged("more")], False),
        "another is going": ([aged("goes"), node_removal_request("goes")], False),
        "one is coming": ([node_request("r", phase="Provisioning", createAttemptAt=before(seconds=9))], False),
    },
)
def test_only_at_min(extra, goes):
    old = [aged("a", days=9), aged("b", days=8)]
    given = scene(
        *old, *extra, pods=[pod("x", node="a", owner="rs")], limits={"min": 2}, scaleDown={"mode": "drain"}, **AT_MIN
    )
    made = [entry for entry in leaving(given) if entry[1] == "Rotation"]
    # One at a time, the oldest, and bought first.
    assert made == ([("a", "Rotation")] if goes else [])
    if goes:
        assert [removal.replacement for removal in plan(given.snapshot()).removals] == [(0,)]


def test_at_min_and_max_nothing_can_be_bought_first_and_it_says_so():
    given = scene(
        aged("a", days=9),
        pods=[pod("x", node="a", owner="rs")],
        limits={"min": 1, "max": 1},
        **AT_MIN,
        scaleDown={"mode": "drain"},
    )
    made = plan(given.snapshot())
    assert made.removals == ()
    assert [(each.node, each.trigger, each.reason) for each in made.blocked] == [("a", "Rotation", "BlockedByMisfit")]


def test_without_pods_a_minimum_is_bought_first_and_at_max_it_stays():
    empty = aged("a", days=9, annotations={"growth.dev/idle-since": before(days=1)})
    given = scene(empty, limits={"min": 1}, **WEEK)
    (removal,) = plan(given.snapshot()).removals
    (request,) = plan(given.snapshot()).requests
    assert (removal.node, removal.reason, removal.replacement, request.seats) == ("a", "Rotation", (0,), ())
    full = plan(scene(empty, limits={"min": 1, "max": 1}, **WEEK).snapshot())
    assert (full.removals, full.requests) == ((), ())
    (blocked,) = full.blocked
    assert (blocked.node, blocked.reason) == ("a", "BlockedByMinimum")
    assert blocked.why.endswith("and no other one is Ready or can be bought first")


@rows(
    ("mode", "pods", "reason", "message"),
    {
        "drain": ("drain", [pod("x", node="a", owner="rs")], "Replaced", ""),
        "empty": ("empty", [pod("x", node="a", owner="rs")], "WaitsForPodsToLeave", "so 1 with pods stay"),
        "none": ("none", [pod("x", node="a", owner="rs")], "ModeNone", "so none of them goes"),
    },
)
def test_the_pool_says_what_becomes_of_old_machines(mode, pods, reason, message):
    given = scene(aged("a", days=9), pods=pods, scaleDown={"mode": mode}, **WEEK)
    reported = condition(given, "TooOld")
    assert (reported.status, reported.reason) == ("True", reason)
    assert reported.message.startswith("Machines that have reached the age at which they are replaced: 1 (a)")
    assert message in reported.message
    assert bool(leaving(given)) is (mode == "drain")


def test_where_pods_are_not_asked_to_leave_one_without_pods_keeps_its_idle_time():
    fresh = scene(
        aged("a", days=9, annotations={"growth.dev/idle-since": before(minutes=9)}), limits={"min": 1}, **WEEK
    )
    assert leaving(fresh) == []
    unmarked = scene(aged("a", days=9), limits={"min": 1}, **WEEK)
    assert leaving(unmarked) == []


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {"growth.dev/do-not-remove": "mine"}},
        {"labels": {"growth.dev/request": "another"}},
        {"pool": None},
        {"deleting": True},
        {"spec": {"unschedulable": True}},
        {"ready": False},
    ],
    ids=["kept by a person", "another's request", "foreign", "being deleted", "cordoned", "not Ready"],
)
def test_which_old_machines_stay(change):
    assert leaving(with_pods(aged("n", days=9, **change), **WEEK)) == []


def test_one_under_removal_is_not_proposed_again():
    given = with_pods(aged("n", days=9), **WEEK)
    given.removals = [node_removal_request("n", spec={"reason": "Rotation"})]
    made = plan(given.snapshot())
    assert (made.removals, made.requests) == ((), ())


def test_a_pool_that_is_being_deleted_rotates_nothing():
    given = with_pods(aged("n", days=9), **WEEK)
    given.pools[0]["metadata"]["deletionTimestamp"] = before(minutes=1)
    assert leaving(given) == []
