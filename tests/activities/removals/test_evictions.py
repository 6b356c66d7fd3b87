"""Pods are asked to leave by name and uid; who may not is told, and who is gone is no failure."""

import pytest

from activities.ports.cluster import PODS
from activities.ports.errors import BudgetExhausted, Forbidden, Rejected, Unreachable
from activities.removals.drain import EvictionRefused, ask_to_leave
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
    return await ask_to_leave(life.cluster, pods, whatever_keeps_them=whatever_keeps_them)


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
    assert await ask(life) == [EvictionRefused(reason, str(error))]
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
