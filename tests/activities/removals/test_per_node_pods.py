"""Pods that belong to the node keep no machine, unless a budget says so: a storage system has one while it has data."""

from datetime import timedelta

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS, PODS
from planner.lifecycle.step import Act, Wait
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.lives import NAME, SCALE_DOWN, START

OVER = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
COOLING = OVER | {"scaleDownAt": START + timedelta(seconds=30)}
DRAINING = OVER | {"phase": "Draining", "drainStartedAt": START}
MANAGER = "instance-manager-1"


async def add_manager(life, name=MANAGER):
    """The pod of a storage system that belongs to the Node."""
    await life.run_pod(
        name,
        labels={"app": "web", "longhorn.io/node": NAME},
        annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
    )
    owner = {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "InstanceManager",
        "name": "x",
        "uid": "x",
        "controller": True,
    }
    await life.cluster.put(PODS, name, "/metadata/ownerReferences", [owner])


async def ends_with(life):
    """The step of the removal, by its kind or effect and its reason."""
    step = await life.removal_step()
    return (step.effect if isinstance(step, Act) else type(step), step.reason)


@pytest.mark.parametrize("status", [OVER, DRAINING], ids=["cooled off", "drained"])
@pytest.mark.parametrize("reason", ["Empty", "Requested"])
async def test_it_is_evicted_as_its_machine_goes(life, status, reason):
    await life.add_leaving(status, SCALE_DOWN, reason=reason)
    await add_manager(life)
    assert (await life.look_removal()).occupant_count == 0
    await life.do("commit_removal")
    assert "deletionTimestamp" in (await life.find(PODS, MANAGER, "shop"))["metadata"]
    assert (await life.removal())["status"]["phase"] == "Deprovisioning"


@pytest.mark.parametrize("status", [None, OVER, DRAINING], ids=["new", "cooled off", "drained"])
async def test_a_budget_keeps_the_machine_with_its_reason(life, status):
    await life.add_leaving(status, *([SCALE_DOWN] if status else []), reason="Empty")
    await add_manager(life)
    await life.add_budget()
    assert await ends_with(life) == ("tell_blockers", "BlockedByBudget")
    await life.do("tell_blockers")
    assert await ends_with(life) == (Wait, "BlockedByBudget")
    assert MANAGER in (await life.removal())["status"]["message"]
    assert {("NodeRemovalRequest", "BlockedByBudget"), ("Node", "BlockedByBudget")} <= await life.event_reasons()
    assert await life.find(PODS, MANAGER, "shop") is not None
    await life.cluster.delete(DISRUPTION_BUDGETS, "web", namespace="shop")
    assert (await ends_with(life))[0] == ("commit_removal" if status else "taint_node")


async def test_without_a_taint_it_keeps_no_pods_off(life):
    await life.add_leaving(None, reason="Empty")
    await add_manager(life)
    await life.add_budget()
    await life.do("tell_blockers")
    assert await life.taints() == []
    # A machine that pods use meanwhile is not idle any more.
    await life.run_pod("web-1", labels={"app": "other"})
    assert (await ends_with(life))[0] == "taint_node"


async def test_a_cool_off_that_goes_on_asks_nobody(life):
    await life.add_leaving(COOLING, SCALE_DOWN, reason="Empty")
    await add_manager(life)
    await life.add_budget()
    assert await ends_with(life) == (Wait, "CoolOff")


async def test_a_budget_that_comes_at_the_last_moment_stops_it(life):
    await life.add_leaving(OVER, SCALE_DOWN, reason="Empty")
    await add_manager(life)

    act = await life.removal_step()
    real = life.cluster.evict
    tries = []

    async def evict(name, *, namespace, uid, dry_run=False):
        tries.append(dry_run)
        if not dry_run:
            await life.add_budget()
        await real(name, namespace=namespace, uid=uid, dry_run=dry_run)

    life.cluster.evict = evict
    await life.do("commit_removal", act)
    assert tries == [True, False, True]
    assert await ends_with(life) == ("tell_blockers", "BlockedByBudget")
    assert (await life.removal())["status"]["phase"] == "Pending"


async def test_other_pods_are_work_as_before(life):
    await life.add_leaving(OVER, SCALE_DOWN, reason="Empty")
    await add_manager(life)
    await life.run_pod("web-1")
    assert await ends_with(life) == ("cancel_removal", "NotEmpty")


async def test_a_pod_that_ends_already_is_not_asked(life):
    await life.add_leaving(OVER, SCALE_DOWN, reason="Empty")
    await add_manager(life)
    await life.add_budget()
    await MemoryCluster.delete(life.cluster, PODS, MANAGER, namespace="shop")
    assert await ends_with(life) == ("commit_removal", "Empty")
