"""Taint and wait: in a pool of mode `wait` a closed node stays until its pods have ended, or hardGrace has.

Golden: Escalator, pkg/controller/scale_down_test.go, TestControllerDryMode and TestController_TryRemoveTaintedNodes:
a node past its soft grace goes once it is empty, one past its hard grace whatever is on it.
"""

from datetime import timedelta

import pytest

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODES
from planner.lifecycle.kinds import REMOVAL
from planner.lifecycle.removal import next_step
from planner.lifecycle.step import Act, DecisionKind
from tests.activities.lives import NAME, START, at_each_write
from tests.activities.removals.drains import draining, events, go_on, going, pods, status_of
from tests.tables import rows

OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
FORCED = ["begin_drain", "leave_balancers", "evict_pods", "commit_removal"]
WAITS = ["tell_blockers", "WaitsForPods"]


async def waiting(*names, status=OVER, hard_grace=None, **spec):
    """A Node with these pods, closed for a minute, in a pool of mode wait whose cool-off is over."""
    grace = {} if hard_grace is None else {"hardGrace": hard_grace}
    return await draining(*names, status=status, scale_down={"mode": "wait"} | grace, **spec)


@pytest.mark.parametrize("reason", ["Requested", "Underused", "OverMax"])
async def test_without_hard_grace_a_node_waits_for_ever(reason):
    life = await waiting("web-1", reason=reason)
    assert await go_on(life, seconds=7 * 86400, tick=600) == WAITS
    status = await status_of(life)
    assert (status["phase"], status["reason"]) == ("Pending", "WaitsForPods")
    assert status["message"] == (
        "The node takes no new pods, and goes once those that are on it have ended by themselves"
    )
    assert await going(life) == []
    # A week of looks adds nothing to the object.
    assert events(status) == ["WaitsForPods"]
    assert await life.conditions() == {"Empty": ("False", "WaitsForPods")}


async def test_it_goes_once_the_last_pod_has_ended():
    life = await waiting("job-1", "job-2")
    assert await go_on(life, seconds=30) == WAITS
    await life.set_pod_status({"phase": "Succeeded"}, "job-1")
    assert await go_on(life, seconds=30) == ["WaitsForPods"]
    await life.set_pod_status({"phase": "Failed"}, "job-2")
    assert await go_on(life, seconds=30) == ["commit_removal"]
    assert await life.conditions() == {"Empty": ("True", "Empty")}


async def test_row_67_two_nodes_past_their_grace_that_are_empty_go():
    for _ in range(2):
        assert await go_on(await waiting(), seconds=30) == ["commit_removal"]


async def test_row_67_one_with_a_no_delete_annotation_stays():
    """Ours cancels, so that the node takes pods again, where Escalator leaves it closed for ever."""
    life = await waiting()
    await life.cluster.put(NODES, NAME, "/metadata/annotations", {"growth.dev/do-not-remove": "true"})
    assert await go_on(life, seconds=30) == ["cancel_removal", "untaint_node", "finish_removal"]


@pytest.mark.parametrize("reason", ["Requested", "Underused", "OverMax", "Consolidation"])
async def test_when_hard_grace_ends_pods_are_deleted_whatever_keeps_them(reason):
    life = await waiting("web-1", hard_grace="5m", reason=reason)
    await life.run_pod("bare-1", owner=None)
    await life.run_pod("job-1", annotations={"growth.dev/do-not-remove": "half done"})
    # Closed a minute ago: four are left.
    assert await go_on(life, seconds=239) == WAITS
    assert "From 2026-11-01 12:04:00 UTC on" in (await status_of(life))["message"]
    assert await go_on(life, seconds=60) == ["WaitsForPods", *FORCED]
    status = await status_of(life)
    assert status["phase"] == "Deprovisioning"
    assert "HardGrace" in events(status)
    assert await pods(life) == {}


async def test_a_budget_holds_no_pod_once_hard_grace_is_over():
    life = await waiting("web-1", hard_grace="1m")
    await life.add_budget()
    assert await go_on(life, seconds=60) == FORCED


async def test_hard_grace_that_is_given_later_counts_from_the_taint():
    life = await waiting("web-1")
    assert await go_on(life, seconds=120) == WAITS
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/hardGrace", "2m")
    assert (await go_on(life, seconds=60))[0] == "begin_drain"


async def test_more_time_in_the_middle_of_the_deletion_lets_pods_be():
    life = await waiting("web-1", hard_grace="1m")
    await life.do("begin_drain", await life.removal_step())
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/hardGrace", "1h")
    assert await go_on(life, seconds=60) == WAITS
    assert await going(life) == []


async def test_a_person_cancels():
    life = await waiting("web-1")
    await go_on(life, seconds=30)
    seen = await life.look_removal()
    assert REMOVAL.refusal(seen, DecisionKind.CANCEL) is None
    await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", {"growth.dev/decision": "cancel"})
    assert (await go_on(life, seconds=30))[:2] == ["cancel_removal", "untaint_node"]
    assert list(await pods(life)) == ["web-1"]


@rows(
    ("reason", "steps"),
    {
        "a round found it empty": ("Empty", ["cancel_removal", "untaint_node", "finish_removal"]),
        "somebody wants it to go at once": ("RemoveNow", ["cancel_removal", "untaint_node", "finish_removal"]),
    },
)
async def test_one_that_was_empty_stays_for_pods_that_have_come(reason, steps):
    life = await waiting("web-1", reason=reason)
    assert await go_on(life, seconds=30) == steps


async def test_a_pool_that_drains_by_now_drains():
    life = await waiting("web-1")
    await go_on(life, seconds=30)
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/mode", "drain")
    assert (await go_on(life, seconds=30))[0] == "begin_drain"


async def test_a_removal_that_waits_keeps_no_rounds_coming():
    life = await waiting("web-1")
    assert REMOVAL.is_open(await life.removal())
    await go_on(life, seconds=30)
    assert not REMOVAL.is_open(await life.removal())


@at_each_write(1)
async def test_a_kill_loses_nothing(when, write):
    life = await waiting("web-1")
    act = await life.removal_step()
    assert isinstance(act, Act)
    await life.die_during("tell_blockers", act, when, write)
    assert (await go_on(life, seconds=30))[-1] == "WaitsForPods"
    assert events(await status_of(life)) == ["WaitsForPods"]


async def test_looks_of_a_week_are_few():
    life = await waiting("web-1")
    await go_on(life, seconds=1)
    step = next_step(await life.look_removal(), None, life.now())
    assert step.look_every == timedelta(minutes=10)
