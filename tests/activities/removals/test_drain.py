"""The drain of a Node: what is evicted when, what is told of what blocks it, and what a kill in its middle leaves."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.objects.removal_cancels import cancel as cancel_by_planner
from activities.ports.cluster import DISRUPTION_BUDGETS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODES, PODS
from activities.ports.errors import Forbidden, Unreachable
from planner.lifecycle.removal import next_step
from planner.lifecycle.step import Act, Wait
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, START, at_each_write
from tests.activities.removals.drains import OVER, draining, end_pods, events, go_on, going, pods, status_of
from tests.activities.rounds import Crash
from tests.tables import rows

CACHE = [{"name": "cache", "emptyDir": {}}]


async def test_a_node_with_pods_is_drained_and_goes():
    life = await draining("web-1", "web-2", status=OVER)
    assert await go_on(life) == ["begin_drain", "leave_balancers", "evict_pods", "commit_removal"]
    status = await status_of(life)
    assert status["phase"] == "Deprovisioning"
    assert await pods(life) == {}
    assert events(status) == ["Draining", "LeavesLoadBalancers", "Evicting", "Drained"]
    assert await life.conditions() == {"Drained": ("True", "Drained"), "Empty": ("True", "Drained")}
    assert {("NodeRemovalRequest", "Draining"), ("Node", "Draining"), ("NodeRemovalRequest", "Evicting")} <= (
        await life.event_reasons()
    )


async def test_how_often_pods_were_asked_is_written_before_they_are():
    life = await draining("web-1")
    act = await life.removal_step()
    before = len(life.cluster.writes)
    seen = await life.do("evict_pods", act)
    wrote = [w for w in life.cluster.writes[before:] if not w.startswith("create events")]
    assert wrote == [f"patch noderemovalrequests/{NAME}", "evict pods/web-1", f"patch noderemovalrequests/{NAME}"]
    assert (seen.status.evict_attempts, seen.status.evict_attempted_at) == (0, START)
    assert (await status_of(life))["events"][-1]["reason"].endswith("go last: shop/web-1")


async def test_executed_twice_in_a_row_it_evicts_once():
    life = await draining("web-1")
    act = await life.removal_step()
    first = await life.do("evict_pods", act)
    assert await life.do("evict_pods", act) == first
    assert [w for w in life.cluster.writes if w.startswith("evict")] == ["evict pods/web-1"]


async def test_system_critical_pods_are_evicted_when_all_others_are_gone():
    life = await draining("web-1")
    await life.run_pod("dns-1", owner="dns", priorityClassName="system-cluster-critical")
    await life.do("evict_pods")
    assert await going(life) == ["web-1"]
    assert (await life.removal_step()).reason == "PodsLeave"
    await end_pods(life)
    life.pass_time(10)
    await life.do("evict_pods")
    assert await going(life) == ["dns-1"]


@rows(
    ("path", "value"),
    {
        "a critical DaemonSet's": ("/metadata/ownerReferences/0/kind", "DaemonSet"),
        "a mirror pod": ("/metadata/annotations", {"kubernetes.io/config.mirror": "x"}),
    },
)
async def test_pods_that_belong_to_the_node_stay_until_it_goes(path, value):
    life = await draining()
    await life.run_pod("web-1", priorityClassName="system-node-critical")
    await life.cluster.put(PODS, "web-1", path, value)
    assert await go_on(life) == ["commit_removal"]
    assert list(await pods(life)) == ["web-1"]


async def test_each_kind_of_blocker_is_told_by_its_own_event_and_nothing_is_evicted():
    life = await draining("web-1")
    await life.run_pod("bare-1", owner=None)
    await life.run_pod("db-1", volumes=CACHE)
    await life.run_pod("job-1", annotations={"growth.dev/do-not-remove": "half done"})
    assert await go_on(life) == ["tell_blockers", "BlockedByAnnotation"]
    assert await going(life) == []
    status = await status_of(life)
    assert (status["phase"], status["reason"]) == ("Draining", "BlockedByAnnotation")
    assert "shop/job-1 is annotated growth.dev/do-not-remove: half done, shop/bare-1 has no" in status["message"]
    assert events(status) == ["BlockedByAnnotation"]
    assert await life.conditions() == {"Drained": ("False", "BlockedByAnnotation")}
    kinds = {"BlockedByAnnotation", "BlockedByBarePod", "BlockedByLocalStorage"}
    assert {("NodeRemovalRequest", kind) for kind in kinds} | {
        ("Node", "BlockedByAnnotation")
    } <= await life.event_reasons()


@pytest.mark.parametrize(
    "reason", ["Consolidation", "Rotation", "Drift", "Repair", "OverMax", "Underused", "Requested", "Other"]
)
@pytest.mark.parametrize("said", [{}, {"emptyDir": "evict"}, {"emptyDir": "keep"}], ids=str)
async def test_an_empty_dir_keeps_its_pod_from_a_persons_drain_unless_the_pool_says_otherwise(reason, said):
    life = await draining(scale_down=said, reason=reason)
    await life.run_pod("web-1", volumes=CACHE)
    is_kept = said.get("emptyDir", "keep" if reason in {"Requested", "Other"} else "evict") == "keep"
    steps = await go_on(life, seconds=30)
    assert ("BlockedByLocalStorage" in steps) is is_kept
    assert ("evict_pods" in steps) is not is_kept


async def test_a_drain_of_a_policy_keeps_what_the_plan_would_keep():
    life = await draining("web-1", reason="Consolidation")
    await life.run_pod("slow-1", annotations={"karpenter.sh/do-not-disrupt": "10m"})
    started = {"phase": "Running", "startTime": START.isoformat().replace("+00:00", "Z")}
    await life.set_pod_status(started, "slow-1")
    assert await go_on(life, seconds=500) == ["tell_blockers", "BlockedByAnnotation"]
    assert "until 2026" in (await status_of(life))["message"]
    assert (await go_on(life, seconds=300))[-1] == "commit_removal"


@pytest.mark.parametrize("reason", ["Consolidation", "Requested"])
async def test_a_word_of_another_autoscaler_on_the_node_ends_a_policys_drain_alone(reason):
    life = await draining("web-1", reason=reason)
    node = await life.node()
    key = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
    node["metadata"].setdefault("annotations", {})[key] = "true"
    change = [{"op": "add", "path": "/metadata/annotations", "value": node["metadata"]["annotations"]}]
    await MemoryCluster.patch(life.cluster, NODES, NAME, change)
    seen = await life.look_removal()
    step = next_step(seen, None, life.now())
    if reason == "Requested":
        assert step.effect == "evict_pods"
    else:
        assert (step.effect, step.message) == ("cancel_removal", f"The node was annotated {key}")


async def test_a_drain_goes_on_when_a_person_frees_what_blocked_it():
    life = await draining("web-1")
    await life.run_pod("bare-1", owner=None)
    await go_on(life, seconds=20)
    await MemoryCluster.delete(life.cluster, PODS, "bare-1", namespace="shop")
    assert (await go_on(life))[-1] == "commit_removal"


async def test_a_budget_that_never_allows_it_is_visible_and_no_loop():
    life = await draining("web-1")
    await life.add_budget()
    assert await go_on(life, seconds=3600) == ["evict_pods", "BlockedByBudget"] * 16
    status = await status_of(life)
    assert (status["phase"], status["reason"]) == ("Draining", "BlockedByBudget")
    assert status["message"] == (
        "evict pod shop/web-1: The disruption budget web needs 1 healthy pods and has 1 currently"
    )
    # Pauses of 10, 20, 40, 80, 160 s, then of 5 min.
    assert status["evictAttempts"] == 16
    assert events(status) == ["Evicting", "BlockedByBudget"]


async def test_a_budget_that_allows_it_later_is_honoured():
    life = await draining("web-1")
    await life.add_budget()
    await go_on(life, seconds=100)
    await MemoryCluster.delete(life.cluster, DISRUPTION_BUDGETS, "web", namespace="shop")
    assert (await go_on(life))[-1] == "commit_removal"
    assert (await status_of(life))["evictAttempts"] == 0


async def test_pods_go_one_after_another_when_their_budget_says_so():
    life = await draining("web-1", "web-2", "web-3")
    await life.add_budget(minAvailable=2)
    await life.do("evict_pods")
    assert await going(life) == ["web-1"]
    status = await status_of(life)
    assert (status["reason"], status["evictAttempts"]) == ("BlockedByBudget", 1)
    assert status["message"].count("shop/web-") == 2


@rows(
    "pod",
    {
        "annotation": {"annotations": {"growth.dev/do-not-remove": "x"}},
        "no controller": {"owner": None},
        "local storage": {"volumes": CACHE},
        "budget": {},
    },
)
async def test_after_hard_grace_pods_are_deleted_whatever_keeps_them(pod):
    life = await draining(scale_down={"hardGrace": "90s"})
    await life.run_pod(**pod)
    if not pod:
        await life.add_budget()
    await go_on(life, seconds=90)
    assert await going(life) == []
    await life.do("evict_pods")
    assert await going(life) == ["web-1"]
    assert (await pods(life))["web-1"]["deletionGracePeriodSeconds"] == 30
    (event,) = [e for e in (await status_of(life))["events"] if e["name"] == "HardGrace"]
    assert event["reason"] == "hardGrace is over: delete 1 pods, whatever keeps them: shop/web-1"
    assert ("NodeRemovalRequest", "HardGrace") in await life.event_reasons()
    assert (await go_on(life))[-1] == "commit_removal"


async def test_a_deadline_can_be_given_to_a_drain_that_is_blocked_already():
    life = await draining()
    await life.run_pod(owner=None)
    await go_on(life, seconds=30)
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/hardGrace", "1m")
    step = await life.removal_step()
    assert isinstance(step, Wait)
    assert step.until == START + timedelta(minutes=1)
    assert (await go_on(life))[-1] == "commit_removal"


async def test_a_pod_that_does_not_end_is_told():
    life = await draining("web-1")
    assert (await go_on(life, kubelet=False))[-2:] == ["tell_blockers", "BlockedByTerminating"]
    # Its grace of 30 s began at once.
    assert "shop/web-1 should have ended at 2026-11-01 12:00:30 UTC" in (await status_of(life))["message"]
    await end_pods(life)
    assert (await go_on(life))[-1] == "commit_removal"


async def test_a_pod_that_comes_meanwhile_is_evicted_too_and_never_in_a_loop():
    life = await draining("web-1")
    await life.do("evict_pods")
    await end_pods(life)
    await life.run_pod("web-2")
    step = await life.removal_step()
    assert (step.reason, step.until) == ("Evicting", START + timedelta(seconds=10))
    life.pass_time(10)
    await life.do("evict_pods")
    assert await going(life) == ["web-2"]


async def test_an_api_server_that_does_not_answer_is_asked_again_after_the_pause():
    life = await draining("web-1", "web-2")

    life.cluster.refuse_writes(Unreachable("no answer"), "evict", name="web-1")
    with pytest.raises(Unreachable):
        await life.do("evict_pods")
    assert await going(life) == ["web-2"]
    life.cluster.refuse = None
    step = await life.removal_step()
    assert (step.reason, step.until) == ("Evicting", START + timedelta(seconds=10))
    assert (await go_on(life))[-1] == "commit_removal"


async def test_a_right_that_is_missing_is_no_blocker_but_an_error():
    life = await draining("web-1")

    forbidden = Forbidden("no", user="growth", verb="create", resource="pods/eviction", advice="grant it")
    life.cluster.refuse_writes(forbidden, "evict")
    with pytest.raises(Forbidden):
        await life.do("evict_pods")


@at_each_write(11)
async def test_killed_at_any_write_it_goes_on_from_its_object(write, when):
    life = await draining("web-1", "web-2", status=OVER)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await go_on(life)
    except Crash:
        life.restart()
    assert (await go_on(life) or ["commit_removal"])[-1] == "commit_removal"
    assert await pods(life) == {}
    assert (await status_of(life))["phase"] == "Deprovisioning"


@rows(
    ("removal", "mode", "own_pods"),
    {
        "a round found the node empty": ({"status": OVER, "reason": "Empty"}, "drain", ()),
        "the node carries the worker": ({"status": OVER}, "drain", ("shop/web-1",)),
        "the pool drains no more": ({}, "empty", ()),
    },
)
async def test_a_node_is_kept_for_its_pods(removal, mode, own_pods):
    life = await draining("web-1", **removal)
    life.ports = replace(life.ports, own_pods=frozenset(own_pods))
    life.restart()
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown/mode", mode)
    assert (await life.do("cancel_removal")).status.cancel.by == "NotEmpty"


async def test_a_drain_outlives_its_pool():
    life = await draining("web-1")
    await MemoryCluster.delete(life.cluster, NODE_POOLS, "default")
    assert (await go_on(life))[-1] == "commit_removal"


async def test_the_planner_cancels_a_drain_and_what_was_evicted_stays_so():
    life = await draining("web-1", "web-2")
    await life.add_budget(minAvailable=1)
    await life.do("evict_pods")
    await end_pods(life)
    await cancel_by_planner(life.cluster, await life.removal(), "Pool default was deleted", life.now())
    await life.do("untaint_node")
    assert await life.taints() == []
    await life.do("finish_removal")
    assert await life.find(NODE_REMOVAL_REQUESTS) is None
    assert list(await pods(life)) == ["web-2"]


async def test_a_pod_that_comes_back_is_asked_less_and_less_often_and_that_is_told():
    life = await draining("web-1")
    asked = []
    for number in range(2, 7):
        before = life.now()
        while not isinstance(step := await life.removal_step(), Act):
            life.pass_time(1)
        assert step.effect == "evict_pods"
        asked.append((life.now() - before).total_seconds())
        await life.do("evict_pods", step)
        await end_pods(life)
        # Its controller makes another one, which the scheduler binds to the same Node: it tolerates each taint.
        life.pass_time(1)
        await life.run_pod(f"web-{number}", tolerations=[{"operator": "Exists"}])
    # 10 s after one that was let go, and after the first that had come back; then twice as long each time.
    assert asked == [0, 9, 9, 19, 39]
    status = await status_of(life)
    assert (status["evictAttempts"], status["reason"]) == (4, "Evicting")
    assert "come back to the node" in status["message"]
    assert "come back to the node" in (await life.removal_step()).message


async def test_pods_that_come_back_are_asked_no_more_often_because_of_one_that_a_budget_keeps():
    life = await draining("web-1")
    await life.add_budget()
    asked = []
    for number in range(1, 6):
        await life.run_pod(f"agent-{number}", labels={"app": "agent"}, tolerations=[{"operator": "Exists"}])
        before = life.now()
        while not isinstance(step := await life.removal_step(), Act):
            life.pass_time(1)
        asked.append((life.now() - before).total_seconds())
        await life.do("evict_pods", step)
        await end_pods(life)
        life.pass_time(1)
    # The pause doubles from the first round on that let nobody go for the first time.
    assert asked == [0, 9, 19, 39, 79]
    assert "web-1" in await pods(life)
