"""What a drain relies on when it evicts pods, in memory and on a real API server with its disruption controller."""

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS, PODS
from activities.ports.errors import BudgetExhausted, Conflict, NotFound

pytestmark = pytest.mark.asyncio(loop_scope="module")

GUARDED = {"app": "guarded"}
HEALTHY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def run(world, name="a", **labels):
    """A pod that is healthy on a node, and its uid."""
    made = await world.cluster.create(PODS, world.pod(name, labels=labels), namespace=world.namespace)
    await world.bind(name, world.name())
    operations = [{"op": "add", "path": f"/status/{key}", "value": value} for key, value in HEALTHY.items()]
    await world.cluster.patch(PODS, name, operations, namespace=world.namespace, subresource="status")
    return made["metadata"]["uid"]


async def guard(world, name="budget", **spec):
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": GUARDED}, **spec}}
    await world.cluster.create(DISRUPTION_BUDGETS, body, namespace=world.namespace)


async def evict(world, uid, name="a"):
    await world.cluster.evict(name, namespace=world.namespace, uid=uid)


async def evict_when_counted(world, uid, name="a"):
    """Evict once the disruption controller has counted the pods, which it does a moment later."""

    async def is_done():
        try:
            await evict(world, uid, name)
        except BudgetExhausted:
            return False
        return True

    await world.until(is_done)


async def metadata_of(world, name="a"):
    return (await world.cluster.get(PODS, name, namespace=world.namespace))["metadata"]


async def test_a_pod_without_budget_ends_with_its_own_grace(world):
    uid = await run(world)
    await evict(world, uid)
    assert (await metadata_of(world))["deletionGracePeriodSeconds"] == 30
    await world.finish("a")
    assert await world.is_gone(PODS, "a", world.namespace)


async def test_a_pod_that_is_not_there(world):
    with pytest.raises(NotFound):
        await evict(world, "00000000-0000-0000-0000-000000000000")


async def test_another_pod_of_that_name_stays(world):
    await run(world)
    with pytest.raises(Conflict):
        await evict(world, "00000000-0000-0000-0000-000000000000")
    assert "deletionTimestamp" not in await metadata_of(world)


async def test_a_budget_that_never_allows_it_is_named(world):
    uid = await run(world, **GUARDED)
    await guard(world, minAvailable=1)

    async def is_refused_for_good():
        with pytest.raises(BudgetExhausted) as refused:
            await evict(world, uid)
        return "needs 1 healthy pods and has 1 currently" in str(refused.value)

    await world.until(is_refused_for_good)
    with pytest.raises(BudgetExhausted, match=r"evict pod .*/a: The disruption budget budget needs"):
        await evict(world, uid)
    assert "deletionTimestamp" not in await metadata_of(world)


async def test_a_budget_lets_go_as_many_as_it_says(world):
    uids = {name: await run(world, name, **GUARDED) for name in ("a", "b")}
    await guard(world, minAvailable=1)
    await evict_when_counted(world, uids["a"], "a")
    with pytest.raises(BudgetExhausted):
        await evict(world, uids["b"], "b")
    await run(world, "c", **GUARDED)
    await evict_when_counted(world, uids["b"], "b")


async def test_a_budget_over_other_pods_says_nothing(world):
    uid = await run(world, app="free")
    await guard(world, minAvailable=1)
    await evict(world, uid)
    assert "deletionTimestamp" in await metadata_of(world)


async def test_two_budgets_over_one_pod_are_a_refusal_too(world):
    uid = await run(world, **GUARDED)
    await guard(world, "one", minAvailable=0)
    await guard(world, "two", minAvailable=0)
    with pytest.raises(BudgetExhausted, match="more than one PodDisruptionBudget"):
        await evict(world, uid)


async def test_a_pod_that_terminates_already_may_be_evicted_again(world):
    uid = await run(world, **GUARDED)
    await world.cluster.delete(PODS, "a", namespace=world.namespace)
    await guard(world, minAvailable=1)
    before = (await metadata_of(world))["deletionTimestamp"]
    await evict(world, uid)
    assert (await metadata_of(world))["deletionTimestamp"] == before
