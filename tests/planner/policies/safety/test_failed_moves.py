"""A pool in which moves fail one after the other moves no pods for an hour, and says so."""

from datetime import timedelta

import pytest

from api.meta import format_timestamp
from planner.plan import POLICIES, plan
from tests.builders import NOW, before, node, node_pool
from tests.planner.policies.safety.trigger import EmptyAll, decided, drained, outcome, runs

FAILED = "growth.dev/move-failed"
BY = "growth.dev/move-failed-by"


def failed(name, minutes, by=None, pool="default"):
    """Return a Node whose pods could not be moved so many minutes ago, and which waits for a quarter of an hour."""
    ends = format_timestamp(NOW + timedelta(minutes=15 - minutes))
    return node(name, pool=pool, annotations={FAILED: f"{ends} 15m"} | ({BY: by} if by else {}))


def of_minutes(*minutes, more=(), **parts):
    nodes = [failed(f"f{i}", each, **parts) for i, each in enumerate(minutes)]
    return drained(*nodes, node("n"), *more, pods=[runs("x")])


def kept(given):
    return outcome(given, EmptyAll(("n",)))[1]


def test_after_three_within_an_hour_no_other_machine_is_tried_for_an_hour():
    given = of_minutes(70, 35, 20)
    why = (
        "in pool default, 3 moves of pods within an hour have failed, the last at 2026-03-01 11:40:00 UTC: "
        "no other begins before 2026-03-01 12:40:00 UTC"
    )
    assert kept(given) == {"n": ("MovesFail", why)}
    made = decided(given, EmptyAll(("n",)))
    assert made.wake_at == NOW + timedelta(minutes=40)
    (condition,) = [each for each in made.pools[0].status.conditions if each.type == "MovesFail"]
    assert (condition.status, condition.reason) == ("True", "MovesFailed")
    assert condition.message.startswith("3 moves of pods within an hour have failed, the last at 2026-03-01 11:40:00")


@pytest.mark.parametrize(
    "minutes",
    [(35, 20), (81, 35, 20), (120, 90, 61), (-5, 35, 20)],
    ids=["two", "not within an hour", "long ago", "a clock that was ahead"],
)
def test_fewer_or_earlier_ones_keep_nobody_else(minutes):
    given = of_minutes(*minutes)
    assert outcome(given, EmptyAll(("n",)))[0] == ["n"]
    assert not [each for each in decided(given).pools[0].status.conditions if each.type == "MovesFail"]


def test_machines_that_one_new_one_was_to_replace_failed_once():
    assert kept(of_minutes(35, 35, 35, by="m1")) == {}
    nodes = [failed(f"f{i}", 30, by=by) for i, by in enumerate(["m1", "m1", "m2", "m3 m4"])]
    assert kept(drained(*nodes, node("n"), pods=[runs("x")]))["n"][0] == "MovesFail"


def test_of_a_large_pool_a_tenth_must_have_failed():
    quiet = [node(f"q{i}") for i in range(27)]
    assert kept(of_minutes(30, 20, 10, more=quiet)) == {}
    assert kept(of_minutes(40, 30, 20, 10, more=quiet))["n"][0] == "MovesFail"


def test_another_pool_goes_on():
    pools = [node_pool("default", scaleDown={"mode": "drain"}), node_pool("other", scaleDown={"mode": "drain"})]
    given = of_minutes(35, 30, 20, pool="other")
    given.pools = pools
    assert outcome(given, EmptyAll(("n",)))[0] == ["n"]


def test_empty_machines_go_all_the_same_and_the_condition_ends():
    idle = node("idle", annotations={"growth.dev/idle-since": before(minutes=11)})
    given = of_minutes(70, 35, 20, more=[idle])
    made = plan(given.snapshot(), policies=POLICIES)
    assert [removal.node for removal in made.removals] == ["idle"]
    given.pools[0]["status"] = {"conditions": [c.to_json() for c in made.pools[0].status.conditions]}
    given.now = NOW + timedelta(minutes=40)
    (condition,) = [each for each in decided(given).pools[0].status.conditions if each.type == "MovesFail"]
    assert (condition.status, condition.reason) == ("False", "NoMovesFail")
