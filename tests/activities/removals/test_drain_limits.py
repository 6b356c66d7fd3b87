"""Drains that a round began: given up in time, or forced to their end, and what that leaves behind."""

from datetime import timedelta

from activities.ports.cluster import NODE_POOLS, NODES, PODS
from activities.ports.errors import Rejected
from api.meta import format_timestamp
from planner.lifecycle.step import Act
from tests.activities.lives import NAME, START, at_each_write
from tests.activities.removals.drains import draining, end_pods, events, go_on, going, pods, status_of
from tests.activities.rounds import Crash
from tests.tables import rows

PAUSE = "growth.dev/drain-pause"
TIMED_OUT = Act(effect="cancel_removal", reason="DrainTimedOut", message="Not drained", by="DrainTimedOut")


async def ordered(*names, reason="Consolidation", **fields):
    return await draining(*names, reason=reason, **fields)


async def annotations(life):
    return (await life.node())["metadata"].get("annotations") or {}


def at(**after):
    return format_timestamp(START + timedelta(**after))


@rows("reason", {reason: reason for reason in ("Consolidation", "Rotation", "Drift", "Repair", "OverMax")})
async def test_a_drain_that_a_budget_never_lets_end_is_given_up_and_the_node_takes_pods_again(reason):
    life = await ordered("web-1", reason=reason)
    await life.add_budget()
    assert (await go_on(life, seconds=3600))[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]
    assert life.now() == START + timedelta(minutes=15)
    assert await life.removal() is None
    assert await life.taints() == []
    assert (await annotations(life))[PAUSE] == f"{at(minutes=30)} 15m"
    assert await going(life) == []
    (told,) = [e["note"] for e in await life.events() if e["reason"] == "Cancelled"]
    assert told == (
        "By DrainTimedOut: Not drained by 2026-11-01 12:15:00 UTC, 1 pod is still on it: shop/web-1. "
        "evict pod shop/web-1: The disruption budget web needs 1 healthy pods and has 1 currently"
    )


async def test_a_persons_drain_never_is():
    life = await draining("web-1", scale_down={"drainTimeout": "1m", "terminationGracePeriod": "1m"})
    await life.add_budget()
    await go_on(life, seconds=7200)
    assert (await status_of(life))["phase"] == "Draining"
    assert await going(life) == []


async def test_what_was_evicted_stays_where_it_is():
    life = await ordered("web-1", "web-2", scale_down={"drainTimeout": "1m"})
    await life.run_pod("db-1", owner="db", labels={"app": "db"})
    await life.cluster.put(PODS, "db-1", "/metadata/finalizers", ["example.org/slow"])
    await go_on(life, seconds=600)
    assert life.now() == START + timedelta(minutes=1)
    assert list(await pods(life)) == ["db-1"]
    assert await life.taints() == []


async def lasting(*fast, seconds, kubelet=True):
    """A drain of a pod that has an hour to end, and of others; the kubelet ends none before its time."""
    life = await ordered(*fast)
    await life.run_pod("slow-1", owner="slow", labels={"app": "slow"}, terminationGracePeriodSeconds=3600)
    end = life.now() + timedelta(seconds=seconds)
    steps = []
    while life.now() < end and await life.removal() is not None and "commit_removal" not in steps:
        steps += await go_on(life, seconds=30, kubelet=False, tick=30)
        if kubelet:
            await end_pods(life, in_time=True)
    return life, steps


async def test_pods_that_have_an_hour_to_end_have_it_and_the_node_stays_closed():
    life, steps = await lasting("web-1", seconds=3700)
    assert "cancel_removal" not in steps
    assert list(await pods(life)) == []
    assert life.now() >= START + timedelta(hours=1)
    assert (await status_of(life))["phase"] == "Deprovisioning"


async def test_one_that_does_not_end_in_its_time_ends_the_drain_then():
    life, steps = await lasting(seconds=3700, kubelet=False)
    assert steps[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]
    assert timedelta(hours=1) < life.now() - START < timedelta(hours=1, minutes=1)


async def test_one_that_may_not_go_ends_the_drain_whoever_else_has_time():
    life = await ordered("web-1")
    await life.run_pod("slow-1", owner="slow", labels={"app": "slow"}, terminationGracePeriodSeconds=3600)
    await life.add_budget()
    steps = await go_on(life, seconds=3600, kubelet=False, tick=5)
    assert steps[-3:] == ["cancel_removal", "untaint_node", "finish_removal"]
    assert life.now() == START + timedelta(minutes=15)


@rows(
    ("before", "after"),
    {
        "none": ({}, f"{at(minutes=15)} 15m"),
        "one a moment ago": ({PAUSE: f"{at(minutes=-5)} 15m"}, f"{at(minutes=30)} 30m"),
        "the longest": ({PAUSE: f"{at(minutes=-5)} 24h"}, f"{at(days=1)} 24h"),
        "almost the longest": ({PAUSE: f"{at(minutes=-5)} 16h"}, f"{at(days=1)} 24h"),
        "a quiet day since": ({PAUSE: f"{at(days=-1)} 8h"}, f"{at(minutes=15)} 15m"),
        "of another's making": ({PAUSE: "soon"}, f"{at(minutes=15)} 15m"),
        "of a clock far ahead": ({PAUSE: f"{at(days=900)} 15m"}, f"{at(minutes=15)} 15m"),
        "the same one": ({PAUSE: f"{at(hours=2)} 2h"}, f"{at(hours=2)} 2h"),
    },
)
async def test_the_pause_doubles_up_to_a_day_and_is_forgotten_after_a_quiet_one(before, after):
    life = await ordered("web-1")
    await life.cluster.put(NODES, NAME, "/metadata/annotations", before)
    await life.do("cancel_removal", TIMED_OUT)
    await life.do("untaint_node")
    assert (await annotations(life))[PAUSE] == after


@rows("by", {"a person": "Ada", "the planner": "Planner"})
async def test_other_cancels_begin_no_pause(by):
    life = await ordered("web-1")
    await life.do("cancel_removal", Act(effect="cancel_removal", reason="Cancelled", by=by))
    await life.do("untaint_node")
    assert PAUSE not in await annotations(life)


@at_each_write(8)
async def test_killed_at_any_write_a_drain_is_given_up_once(write, when):
    life = await ordered("web-1", scale_down={"drainTimeout": "20s"})
    await life.add_budget()
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await go_on(life)
    except Crash:
        life.restart()
    await go_on(life)
    assert await life.removal() is None
    assert await life.taints() == []
    until, length = (await annotations(life))[PAUSE].split()
    assert (until <= at(minutes=16), length) == (True, "15m")


# terminationGracePeriod


@rows(
    "pod",
    {
        "annotation": {"annotations": {"growth.dev/do-not-remove": "x"}},
        "no controller": {"owner": None},
        "budget": {},
    },
)
async def test_a_pod_is_deleted_so_early_that_its_own_grace_ends_in_time(pod):
    life = await ordered(scale_down={"terminationGracePeriod": "10m"})
    await life.run_pod("slow-1", terminationGracePeriodSeconds=240, **pod)
    await life.add_budget()
    steps = await go_on(life, seconds=359)
    assert "tell_deadline" in steps
    assert await going(life) == []
    await go_on(life, seconds=2, kubelet=False)
    metadata = (await pods(life))["slow-1"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (at(minutes=10), 240)
    status = await status_of(life)
    assert status["forcedAt"] == at(minutes=10)
    (event,) = [e["reason"] for e in status["events"] if e["name"] == "TerminationGracePeriod"]
    assert event == (
        "terminationGracePeriod ends at 2026-11-01 12:10:00 UTC: delete pods, whatever keeps them: shop/slow-1"
    )
    await end_pods(life)
    assert (await go_on(life))[-1] == "commit_removal"


async def test_pods_and_node_are_told_at_the_beginning_of_a_short_drain():
    life = await ordered("web-1", "web-2", scale_down={"terminationGracePeriod": "10m"})
    await life.do("tell_deadline")
    told = [e for e in await life.events() if e["reason"] == "ForcedLater"]
    assert sorted((e["regarding"]["kind"], e["regarding"]["name"]) for e in told) == [
        ("Node", NAME),
        ("NodeRemovalRequest", NAME),
        ("Pod", "web-1"),
        ("Pod", "web-2"),
    ]
    assert {e["note"].split(":")[0] for e in told} == {"No pod stays on the node after 2026-11-01 12"}
    assert (await life.removal_step()).effect == "evict_pods"


async def test_they_are_told_a_day_before_the_end_of_a_long_one():
    life = await ordered("web-1", scale_down={"terminationGracePeriod": "48h"})
    await life.add_budget()
    assert "tell_deadline" not in await go_on(life, seconds=600)
    life.pass_time(24 * 3600 - 600 - 31)
    assert (await life.removal_step()).reason == "BlockedByBudget" or (await life.do("evict_pods")) is not None
    life.pass_time(1)
    assert (await life.removal_step()).effect == "tell_deadline"


@at_each_write(4)
async def test_killed_at_any_write_they_are_told(write, when):
    life = await ordered("web-1", "web-2", scale_down={"terminationGracePeriod": "10m"})
    act = await life.removal_step()
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await life.do("tell_deadline", act)
    except Crash:
        life.restart()
        await life.do("tell_deadline", act)
    assert (await status_of(life))["forcedAt"] == at(minutes=10)
    told = {e["regarding"]["name"] for e in await life.events() if e["reason"] == "ForcedLater"}
    assert told == {NAME, "web-1", "web-2"}


async def test_one_that_asks_for_more_than_there_is_has_all_of_that():
    """kubernetes-sigs/karpenter, designs/nodeclaim-termination-grace-period.md."""
    life = await ordered(scale_down={"terminationGracePeriod": "10m"})
    await life.run_pod("db-1", terminationGracePeriodSeconds=7200)
    await go_on(life, seconds=1, kubelet=False)
    metadata = (await pods(life))["db-1"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (at(minutes=10), 600)


async def test_one_that_was_asked_before_has_less_when_the_pool_says_so_later():
    life = await ordered()
    await life.run_pod("db-1", terminationGracePeriodSeconds=7200)
    await life.do("evict_pods")
    assert (await pods(life))["db-1"]["deletionTimestamp"] == at(hours=2)
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/terminationGracePeriod", "10m")
    life.pass_time(60)
    await go_on(life, seconds=30, kubelet=False)
    metadata = (await pods(life))["db-1"]
    assert metadata["deletionTimestamp"] == at(minutes=10)


async def test_all_others_keep_their_own_grace_and_go_by_their_budgets():
    """kubernetes/autoscaler issues 147 and 6089: graces were cut to what the autoscaler would wait."""
    life = await ordered("web-1", scale_down={"terminationGracePeriod": "10m"})
    await life.run_pod("long-1", owner="long", labels={"app": "long"}, terminationGracePeriodSeconds=300)
    await go_on(life, seconds=1, kubelet=False)
    found = await pods(life)
    assert {n: m["deletionGracePeriodSeconds"] for n, m in found.items()} == {"web-1": 30, "long-1": 300}
    assert not [write for write in life.cluster.writes if write.startswith("delete pods")]


async def test_system_critical_pods_are_forced_when_it_is_their_time_whoever_is_left():
    """kubernetes-sigs/karpenter issue 1776: a drain stood at its first pod and never came to the others."""
    life = await ordered("web-1", scale_down={"terminationGracePeriod": "2m"})
    await life.add_budget()
    await life.run_pod(
        "dns-1",
        owner="dns",
        labels={"app": "dns"},
        priorityClassName="system-cluster-critical",
        terminationGracePeriodSeconds=60,
    )
    await go_on(life, seconds=61, kubelet=False)
    assert await going(life) == ["dns-1"]
    await go_on(life, seconds=30, kubelet=False)
    assert await going(life) == ["dns-1", "web-1"]


async def test_a_pod_that_does_not_end_even_so_ends_the_drain_after_its_timeout():
    """Azure/karpenter-provider-azure issue 525, kubernetes-sigs/karpenter issue 2802: machines that never went."""
    life = await ordered("web-1", scale_down={"terminationGracePeriod": "2m", "drainTimeout": "3m"})
    await go_on(life, seconds=900, kubelet=False)
    assert life.now() == START + timedelta(minutes=5)
    assert await life.removal() is None
    assert await life.taints() == []


async def test_a_webhook_that_refuses_deletions_is_told_and_asked_again():
    life = await ordered("web-1", scale_down={"terminationGracePeriod": "1m"})
    await life.add_budget()
    life.cluster.refuse_writes(Rejected("no: denied by a webhook"), "delete", name="web-1")
    await go_on(life, seconds=50)
    status = await status_of(life)
    assert (status["reason"], status["message"]) == ("EvictionRefused", "no: denied by a webhook")
    life.cluster.refuse = None
    assert (await go_on(life))[-1] == "commit_removal"


@at_each_write(9)
async def test_killed_at_any_write_the_last_pods_are_forced(write, when):
    life = await ordered("web-1", "web-2", scale_down={"terminationGracePeriod": "40s"})
    await life.add_budget()
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await go_on(life)
    except Crash:
        life.restart()
    await go_on(life)
    assert (await status_of(life))["phase"] == "Deprovisioning"
    assert events(await status_of(life)).count("Drained") == 1
