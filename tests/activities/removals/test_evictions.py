"""Pods are asked to leave by name and uid; who may not is told, and who is gone is no failure."""

from datetime import timedelta

import pytest

from activities.ports.cluster import PODS
from activities.ports.errors import BudgetExhausted, Forbidden, Rejected, Unreachable
from activities.removals.evictions import EvictionRefused, ask_to_leave, delete_pods
from api.keys import LABEL_HARD_GRACE_OVER
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import Life


@pytest.fixture
async def life():
    made = Life()
    await made.run_pod("web-1")
    await made.run_pod("web-2")
    return made


async def ask(life, *, whatever_keeps_them=False, **changes):
    pods = (await MemoryCluster.list(life.cluster, PODS)).items
    pods[0]["metadata"] |= changes
    return await (delete_pods(life.cluster, pods, {}) if whatever_keeps_them else ask_to_leave(life.cluster, pods))


async def going(life):
    pods = (await MemoryCluster.list(life.cluster, PODS)).items
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]


@pytest.mark.parametrize("whatever_keeps_them", [False, True])
async def test_pods_leave_with_their_own_grace(life, whatever_keeps_them):
    assert await ask(life, whatever_keeps_them=whatever_keeps_them) == []
    assert await going(life) == ["web-1", "web-2"]
    verbs = ("patch", "delete") if whatever_keeps_them else ("evict",)
    for name in ("web-1", "web-2"):
        assert [write for write in life.cluster.writes if write.endswith(name)] == [
            f"{verb} pods/{name}" for verb in verbs
        ]


@pytest.mark.parametrize("whatever_keeps_them", [False, True])
@pytest.mark.parametrize("changes", [{"uid": "an-earlier-one"}, {"name": "gone"}], ids=["another's name", "gone"])
async def test_of_a_pod_that_is_gone_nothing_is_hit(life, whatever_keeps_them, changes):
    assert await ask(life, whatever_keeps_them=whatever_keeps_them, **changes) == []
    assert await going(life) == ["web-2"]


async def test_a_pod_is_marked_before_it_is_deleted_and_only_once(life):
    """The policies of the base let Growth delete no other."""
    await MemoryCluster.patch(
        life.cluster,
        PODS,
        "web-1",
        [{"op": "add", "path": "/metadata/labels", "value": {LABEL_HARD_GRACE_OVER: "true", "app": "web"}}],
        namespace="shop",
    )
    assert await ask(life, whatever_keeps_them=True) == []
    assert [write for write in life.cluster.writes if write.endswith("web-1")] == ["delete pods/web-1"]
    labels = {
        pod["metadata"]["name"]: pod["metadata"]["labels"]
        for pod in (await MemoryCluster.list(life.cluster, PODS)).items
    }
    assert labels["web-1"] == {LABEL_HARD_GRACE_OVER: "true", "app": "web"}
    assert labels["web-2"][LABEL_HARD_GRACE_OVER] == "true"


async def test_a_pod_that_may_not_be_marked_stays_and_is_told(life):
    error = Rejected("no: ValidatingAdmissionPolicy 'growth-deleted-pods'")
    life.cluster.refuse_writes(error, "patch", name="web-1")
    assert await ask(life, whatever_keeps_them=True) == [EvictionRefused("EvictionRefused", str(error))]
    assert await going(life) == ["web-2"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(BudgetExhausted("no: web"), "BlockedByBudget"), (Rejected("no: denied by a webhook"), "EvictionRefused")],
)
async def test_who_may_not_is_told_and_the_others_go(life, error, reason):
    life.cluster.refuse_writes(error, "evict", name="web-1")
    # Of equal pods, a budget that has refused one would refuse the other.
    assert await ask(life, labels={"app": "db"}) == [EvictionRefused(reason, str(error))]
    assert await going(life) == ["web-2"]


@pytest.mark.parametrize(
    "error",
    [Unreachable("no answer"), Forbidden("no", user="u", verb="create", resource="pods/eviction", advice="grant it")],
)
async def test_what_a_person_or_time_must_mend_is_raised_when_the_others_were_asked(life, error):
    life.cluster.refuse_writes(error, "evict", name="web-1")
    with pytest.raises(type(error)):
        await ask(life)
    assert await going(life) == ["web-2"]


async def crowd(life, number, *, labels=None, budget=True):
    for n in range(number):
        await life.run_pod(f"crowd-{n:03}", owner="crowd", labels=labels(n) if labels else {"app": "crowd"})
    if budget:
        await life.add_budget("crowd", selector={"matchLabels": {"app": "crowd"}}, maxUnavailable=1)
    found = (await MemoryCluster.list(life.cluster, PODS)).items
    return [pod for pod in found if pod["metadata"]["name"].startswith("crowd")]


def evictions(life):
    return [write for write in life.cluster.writes if write.startswith("evict")]


async def test_of_equal_pods_none_is_asked_when_their_budget_has_refused_one(life):
    pods = await crowd(life, 250)
    refused = await ask_to_leave(life.cluster, pods)
    assert len(refused) == 249
    assert {one.reason for one in refused} == {"BlockedByBudget"}
    # One, which went, and two.
    assert len(evictions(life)) == 3
    assert len(await going(life)) == 1


async def test_without_a_budget_all_are_asked(life):
    assert await ask_to_leave(life.cluster, await crowd(life, 250, budget=False)) == []
    assert len(evictions(life)) == 250


async def test_a_budget_of_some_pods_of_a_controller_holds_up_no_other(life):
    """A budget may select by any label, such as the role that an operator gives to one of its pods."""
    pods = await crowd(life, 20, labels=lambda n: {"app": "crowd" if n < 12 else "other"})
    refused = await ask_to_leave(life.cluster, pods)
    assert len(refused) == 11
    assert len(await going(life)) == 9


async def test_pods_that_are_not_ready_are_asked_by_themselves(life):
    """Of those a budget may let all go: unhealthyPodEvictionPolicy, AlwaysAllow."""
    pods = await crowd(life, 20)
    for pod in pods[:3]:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    await ask_to_leave(life.cluster, pods)
    asked = evictions(life)
    assert {f"evict pods/crowd-{n:03}" for n in range(3)} <= set(asked)
    assert len(asked) <= 3 + 3


async def test_a_webhook_that_refuses_one_pod_holds_up_no_other(life):
    pods = await crowd(life, 20, budget=False)
    life.cluster.refuse_writes(Rejected("no: denied by a webhook"), "evict", name="crowd-000")
    assert [one.reason for one in await ask_to_leave(life.cluster, pods)] == ["EvictionRefused"]
    assert len(await going(life)) == 19


async def test_a_pod_that_terminates_ends_earlier_with_a_shorter_grace_and_never_later(life):
    (pod,) = [p for p in (await MemoryCluster.list(life.cluster, PODS)).items if p["metadata"]["name"] == "web-1"]
    uid = pod["metadata"]["uid"]
    for seconds, left in ((20, 20), (25, 20), (5, 5)):
        await delete_pods(life.cluster, [pod], {uid: timedelta(seconds=seconds)})
        (pod,) = [p for p in (await MemoryCluster.list(life.cluster, PODS)).items if p["metadata"]["uid"] == uid]
        assert pod["metadata"]["deletionGracePeriodSeconds"] == left
