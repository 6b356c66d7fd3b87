"""What is under way for pods, and what is not: while it is, nothing is consolidated, and not a moment longer."""

import pytest

from tests.builders import before, node, node_removal_request, node_request
from tests.planner.consolidation.quiet_scenes import consolidating, going, planned, pod
from tests.planner.scenes import seat

READY = {"phase": "Ready", "createAttemptAt": before(minutes=25), "readyAt": before(minutes=22)}
DRAINING = {
    "phase": "Draining",
    "taintedAt": before(minutes=22),
    "scaleDownAt": before(minutes=21),
    "drainStartedAt": before(minutes=21),
    "evictAttemptedAt": before(minutes=20),
}
MOVES = [("a", "Consolidation")]
"""Of two half-empty machines, `a` and `b`."""


def half_empty(*objects, pods=(), **parts):
    own = [pod("x", node="a"), pod("y", "600m", node="b")]
    return consolidating(node("a"), node("b"), *objects, pods=[*own, *pods], types=["cx22"], **parts)


def born(name, minutes, **parts):
    made = pod(name, **parts)
    made["metadata"]["creationTimestamp"] = before(minutes=minutes)
    return made


def replaced(*pods, seats):
    """While `old` is emptied onto `new`, which was bought for that and is kept until the last of `old` has ended."""
    removal = node_removal_request("old", spec={"replacedBy": ["new"]}, **DRAINING)
    new = node("new", taints=[{"key": "growth.dev/reserved", "effect": "NoSchedule", "value": "new"}])
    request = node_request("new", seats=[seat(each) for each in seats], **READY)
    return half_empty(node("old"), new, removal, request, pods=pods)


def test_pods_that_take_an_hour_to_end_stop_no_other_consolidation():
    ends, follows = pod("e", node="old", deleting=True), born("f", 20, node="new")
    assert going(planned(replaced(ends, follows, seats=[follows]))) == MOVES
    # The next pod of a StatefulSet comes when this one has ended. Its room is counted.
    ends = pod("e", node="old", owner=("StatefulSet", "db"), deleting=True)
    assert going(planned(replaced(ends, seats=[ends]))) == MOVES


def test_while_pods_are_yet_to_come_to_a_new_machine_nothing_else_moves():
    stays = pod("s", node="old")
    assert going(planned(replaced(stays, seats=[stays]))) == []
    ends, waits = pod("e", node="old", deleting=True), born("w", 0, phase="Pending")
    assert going(planned(replaced(ends, waits, seats=[waits]))) == []


@pytest.mark.parametrize(
    ("status", "goes"),
    [
        ({"phase": "Pending", "taintedAt": before(seconds=9)}, []),
        ({"phase": "Pending"}, []),
        (DRAINING | {"drainStartedAt": before(minutes=14)}, []),
        (DRAINING, MOVES),
        ({"phase": "CouldNotRemove", "drainStartedAt": before(minutes=3)}, MOVES),
    ],
    ids=["cools off", "has just begun", "is emptied", "waits for somebody", "is parked"],
)
def test_room_is_not_given_up_while_pods_leave_a_machine_without_a_plan_for_them(status, goes):
    """A person's drain: its pod fits beside what is there now, and on nothing that would be left."""
    removal = node_removal_request("old", by_hand=True, **status)
    given = half_empty(node("old"), removal, pods=[pod("p", "1400m", node="old")])
    assert going(planned(given)) == goes
    given.pods.pop()
    assert going(planned(given)) == MOVES
