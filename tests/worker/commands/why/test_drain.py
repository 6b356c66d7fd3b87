"""`growth why` of a node that is drained: what blocks it, until when, and what a person may do."""

import pytest

from tests.builders import before, node, node_pool, node_removal_request, pod
from tests.planner.scenes import scene
from tests.worker.looking import sight
from worker.commands.why.command import NODE, REMOVAL, lines_about

BARE = (
    "No pod is evicted while one must stay: default/web has no controller that would start it again. "
    "Move or delete it, or cancel the removal"
)
BUDGET = "evict pod default/web: The disruption budget web needs 1 healthy pods and has 1 currently"


@pytest.mark.parametrize(
    ("owner", "status", "awaited"),
    [
        (
            None,
            {"reason": "BlockedByBarePod", "message": BARE},
            f"Awaited until 12:29:00 (in 29m): {BARE}; at the deadline it is deleted all the same.",
        ),
        (
            "rs-1",
            {
                "reason": "BlockedByBudget",
                "message": BUDGET,
                "evictAttempts": 3,
                "evictAttemptedAt": before(seconds=10),
            },
            f"Awaited until 12:00:30 (in 30s): {BUDGET}.",
        ),
        (
            "rs-1",
            {"reason": "Draining", "message": "1 pods are on the node"},
            "Next: Due now: Evict 1 pods; system-critical ones go last.",
        ),
    ],
    ids=["bare pod", "budget", "begun"],
)
def test_a_node_that_is_drained(owner, status, awaited):
    times = {"scaleDownAt": before(minutes=1), "taintedAt": before(minutes=2), "drainStartedAt": before(minutes=1)}
    drained = node_removal_request("m-1", phase="Draining", **times, **status)
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    pools = [node_pool(scaleDown={"mode": "drain", "hardGrace": "30m"})]
    pods = [pod("web", node="m-1", owner=owner)]
    seen = sight(scene(tainted, drained, *pods, pools=pools))
    told = lines_about(REMOVAL, "m-1", seen)
    assert any(
        line.startswith(f"Phase Draining: is drained ({status['reason']}), then goes") and status["message"] in line
        for line in told
    )
    assert awaited in told
    assert "You may: `growth removals cancel m-1`." in told
    of_node = "\n".join(lines_about(NODE, "m-1", seen))
    assert f"{status['reason']}: {status['message']}." in of_node
    assert "You may: `growth removals cancel m-1`." in of_node
