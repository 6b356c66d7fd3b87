"""Room that pods were to move to is gone before they were asked to leave: their machine stays."""

import pytest

from tests.builders import before, daemon_set, node, node_removal_request, node_request, pod
from tests.planner.outcome import planned
from tests.planner.scenes import scene, seat

WAITS = {"taintedAt": before(seconds=9)}
DRAINS = {
    "phase": "Draining",
    "taintedAt": before(minutes=2),
    "scaleDownAt": before(minutes=1),
    "drainStartedAt": before(seconds=40),
}


def moves(name, *pods, **status):
    """Return the removal of a machine whose pods are to move to `n`, which has 2 CPUs."""
    spec = {"moves": [{"pod": f"default/{each}", "node": "n", "owner": "rs"} for each in pods]}
    return node_removal_request(name, spec=spec, **(WAITS | status))


def runs(name, on, cpu):
    return pod(name, cpu, node=on, owner="rs")


def cancels(given):
    return [(cancel.removal, cancel.why) for cancel in planned(given).removal_cancels]


GONE = "n has no room for its pods any more"


def test_a_pod_that_came_meanwhile_has_taken_the_room():
    given = scene(node("old"), node("n"), moves("old", "a"), pods=[runs("a", "old", "1200m"), runs("b", "n", "800m")])
    assert cancels(given) == []
    given.pods.append(runs("late", "n", "100m"))
    assert cancels(given) == [("old", GONE)]


def test_where_another_node_has_as_much_room_the_pods_move():
    pods = [runs("a", "old", "1200m"), runs("b", "n", "900m"), runs("c", "m", "500m")]
    assert cancels(scene(node("old"), node("n"), node("m"), moves("old", "a"), pods=pods)) == []
    pods.append(runs("d", "m", "400m"))
    assert cancels(scene(node("old"), node("n"), node("m"), moves("old", "a"), pods=pods)) == [("old", GONE)]


def test_what_has_begun_goes_on():
    given = scene(node("old"), node("n"), moves("old", "a", **DRAINS), pods=[runs("a", "old", "1200m")])
    given.pods.append(runs("late", "n", "900m"))
    assert cancels(given) == []


def test_only_as_many_stay_as_must_and_those_whose_turn_is_last():
    pods = [runs("x", "a", "600m"), runs("y", "b", "600m"), runs("z", "c", "600m"), runs("late", "n", "500m")]
    removals = [moves("a", "x"), moves("b", "y"), moves("c", "z")]
    given = scene(*map(node, "abcn"), *removals, pods=pods)
    assert cancels(given) == [("c", GONE)]
    given.pods.append(runs("later", "n", "300m"))
    assert cancels(given) == [("c", GONE)]
    given.pods.append(runs("last", "n", "100m"))
    assert cancels(given) == [("c", GONE), ("b", GONE)]


def test_a_daemon_set_that_came_meanwhile_takes_room_too():
    given = scene(node("old"), node("n"), moves("old", "a"), pods=[runs("a", "old", "1900m")])
    assert cancels(given) == []
    given.daemon_sets.append(daemon_set("agent", cpu="200m"))
    assert cancels(given) == [("old", GONE)]


@pytest.mark.parametrize(("cpu", "is_cancelled"), [("2", False), ("1500m", False), ("1400m", True)])
def test_a_new_machine_that_has_less_than_was_planned(cpu, is_cancelled):
    """Nothing was asked to leave: the catalogue was wrong, and a pod would have had no place."""
    a = runs("a", "old", "1500m")
    removal = node_removal_request("old", spec={"replacedBy": ["n"]}, **WAITS)
    request = node_request("n", seats=[seat(a)], phase="Provisioning", createAttemptAt=before(minutes=1))
    given = scene(node("old"), node("n", ready=False, allocatable={"cpu": cpu}), removal, request, pods=[a])
    assert cancels(given) == ([("old", GONE)] if is_cancelled else [])


def test_what_is_cancelled_for_pods_is_cancelled_once():
    pods = [runs("a", "old", "1200m"), runs("b", "n", "900m"), pod("late", "700m")]
    given = scene(node("old"), node("n"), moves("old", "a"), pods=pods, limits={"max": 2})
    assert [cancel.removal for cancel in planned(given).removal_cancels] == ["old"]
