"""Pools as rounds leave them: held, with a status, and let go when they are deleted."""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import (
    CRDS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
)
from activities.ports.errors import NotFound, Rejected
from api.keys import ANNOTATION_DELETE_MACHINES, FINALIZER
from api.v1alpha1.node_pool import NodePoolStatus, PoolCounts
from planner.model.plan import PlanResult, PoolReport
from tests.activities.bodies import pool, removal, request
from tests.activities.rounds import begun, bought, nothing
from tests.tables import rows


@pytest.fixture(autouse=True)
async def first_round(world):
    """Pools are held by the first round."""
    await world.carry_out(nothing())


async def delete_with_machines(world):
    """Delete the pool, marked so that its machines go too."""
    await world.cluster.put(NODE_POOLS, "default", "/metadata/annotations", {ANNOTATION_DELETE_MACHINES: "yes"})
    await world.cluster.delete(NODE_POOLS, "default")


async def machines_in_all_phases(world):
    """A Ready machine with its record, one without, one coming, one unmet, and a cool-off."""
    for name, phase in (("default-ready", "Ready"), ("default-coming", "Provisioning"), ("default-unmet", "Unmet")):
        await world.cluster.create(NODE_REQUESTS, request(name))
        await world.set_status(NODE_REQUESTS, name, phase=phase, workflowId="w")
    for name in ("default-ready", "default-old", "default-cooling"):
        await world.add_node(name)
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-cooling", nodeName="default-cooling"))
    await world.set_status(NODE_REMOVAL_REQUESTS, "default-cooling", phase="Pending", workflowId="w")


async def test_the_first_round_puts_the_finalizer_on_every_pool(world):
    [stored] = await world.items(NODE_POOLS)
    assert stored["metadata"]["finalizers"] == [FINALIZER]


async def test_the_finalizers_of_others_are_kept(world):
    other = pool("other")
    other["metadata"]["finalizers"] = ["example.com/mine"]
    await world.cluster.create(NODE_POOLS, other)
    await world.carry_out(nothing())
    stored = await world.cluster.get(NODE_POOLS, "other")
    assert stored["metadata"]["finalizers"] == ["example.com/mine", FINALIZER]


async def test_a_status_is_written_when_it_differs_and_only_then(world):
    status = NodePoolStatus(observed_generation=1, nodes=PoolCounts(ready=2, total=2))
    plan = nothing(pools=(PoolReport(name="default", status=status, delta=0),))
    await world.carry_out(plan)
    written = await world.cluster.get(NODE_POOLS, "default")
    assert written["status"]["nodes"]["ready"] == 2
    world.cluster.writes.clear()
    await world.carry_out(plan)
    assert not [write for write in world.cluster.writes if "nodepools" in write]


async def test_a_condition_that_a_person_should_know_of_is_one_warning(world, caplog):
    """Source: issue 17, section 4."""
    await world.cluster.patch(NODE_POOLS, "default", [{"op": "add", "path": "/spec/paused", "value": True}])
    for _ in range(3):
        await world.run(world.activities())
    lines = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert len([line for line in lines if line.startswith("NodePool default: Paused, reason PoolPaused: ")]) == 1


async def test_a_status_about_an_older_spec_is_not_written(world):
    status = NodePoolStatus(observed_generation=1, nodes=PoolCounts(ready=2))
    plan = nothing(pools=(PoolReport(name="default", status=status, delta=0),))

    activities = world.activities(planner=lambda _: plan)
    observed = await activities._observer.observe(world.memory(), {})
    await world.cluster.put(NODE_POOLS, "default", "/spec/limits/max", 9)
    activities._observer.observe = lambda *_: _returned(observed)
    result = await world.run(activities=activities)
    assert "status" not in await world.cluster.get(NODE_POOLS, "default")
    assert result.is_open


async def _returned(value):
    return value


async def test_a_pool_that_cannot_be_read_is_not_ready_and_says_why(world):
    await world.cluster.create(NODE_POOLS, pool("odd", serverTypes=[{"name": "cx22", "max": "many"}]))
    await world.set_status(NODE_POOLS, "odd", currency="EUR", conditions=[])
    await world.carry_out(nothing())
    status = (await world.cluster.get(NODE_POOLS, "odd"))["status"]
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Ready", "False", "Unreadable")
    assert condition["message"] == "spec.serverTypes[0].max: must be a whole number, not 'many'"
    assert status["currency"] == "EUR"
    world.cluster.writes.clear()
    world.pass_time(timedelta(minutes=1))
    await world.carry_out(nothing())
    assert not [write for write in world.cluster.writes if "nodepools" in write]


async def test_an_unreadable_status_of_an_unreadable_pool_is_replaced(world):
    await world.cluster.create(NODE_POOLS, pool("odd", serverTypes=[]))
    await world.set_status(NODE_POOLS, "odd", conditions="none")
    await world.carry_out(nothing())
    status = (await world.cluster.get(NODE_POOLS, "odd"))["status"]
    assert [condition["type"] for condition in status["conditions"]] == ["Ready"]


async def test_a_deleted_pool_cancels_what_is_coming_and_cooling_and_goes_while_its_machines_stay(world):
    await machines_in_all_phases(world)
    await world.cluster.delete(NODE_POOLS, "default")
    result = await world.carry_out(nothing())
    by_name = {r["metadata"]["name"]: r for r in await world.items(NODE_REQUESTS)}
    deleted = {name for name, r in by_name.items() if "deletionTimestamp" in r["metadata"]}
    # Owner references are the garbage collector's matter; these requests have none.
    assert deleted == {"default-coming", "default-unmet"}
    [cooling] = await world.items(NODE_REMOVAL_REQUESTS)
    assert cooling["status"]["cancel"]["by"] == "Planner"
    assert cooling["status"]["cancel"]["reason"] == "Pool default was deleted: its machines stay"
    assert await world.names(NODES) == ["default-cooling", "default-old", "default-ready"]
    assert await world.names(NODE_POOLS) == []
    assert result.is_open


async def test_a_deleted_pool_neither_buys_nor_begins_removals_whatever_the_plan_says(world):
    [default] = await world.items(NODE_POOLS)
    await world.cluster.delete(NODE_POOLS, "default")
    machine = bought(pool_uid=default["metadata"]["uid"], seats=())
    await world.carry_out(
        replace(nothing(requests=(machine,), removals=(begun("default-old"),)), result=PlanResult.ALL_PLACED)
    )
    assert await world.names(NODE_REQUESTS) == []
    assert await world.names(NODE_REMOVAL_REQUESTS) == []


async def test_with_the_annotation_all_machines_of_the_pool_are_removed_before_it_goes(world):
    await machines_in_all_phases(world)
    await world.add_node("other-a", pool="other")
    await delete_with_machines(world)
    result = await world.carry_out(nothing())
    removals = {r["metadata"]["name"]: r for r in await world.items(NODE_REMOVAL_REQUESTS)}
    assert set(removals) == {"default-cooling", "default-old", "default-ready"}
    made = removals["default-old"]
    assert made["spec"] == {
        "serverName": "default-old",
        "nodeName": "default-old",
        "providerID": "kwok://default-old",
        "pool": "default",
        "serverType": "cx32",
        "location": "fsn1",
        "classRef": {"kind": "KwokNodeClass", "name": "default"},
        "reason": "PoolDeleted",
        "immediate": False,
        "replacedBy": [],
    }
    assert made["metadata"]["finalizers"] == [FINALIZER]
    # The cool-off that runs already goes on.
    assert "cancel" not in removals["default-cooling"]["status"]
    assert sorted(removal.name for removal in result.removals) == ["default-old", "default-ready"]
    assert await world.names(NODE_POOLS) == []


async def test_a_pool_waits_for_a_cancelled_cool_off_before_it_goes_with_its_machines(world):
    await machines_in_all_phases(world)
    cancel = {"by": "Operator", "at": "2026-01-01T00:00:00Z", "reason": "a test"}
    await world.set_status(NODE_REMOVAL_REQUESTS, "default-cooling", cancel=cancel)
    await delete_with_machines(world)
    await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == ["default"]
    await world.cluster.end(NODE_REMOVAL_REQUESTS, "default-cooling")
    await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == []
    removals = {r["metadata"]["name"]: r["spec"]["reason"] for r in await world.items(NODE_REMOVAL_REQUESTS)}
    assert removals == dict.fromkeys(("default-cooling", "default-old", "default-ready"), "PoolDeleted")


@rows(
    ("name", "labels", "own_pods"),
    {
        "a node that Growth did not buy": ("bare-metal", {"labels": {"growth.dev/pool": "default"}}, ()),
        "the machine that carries the worker": ("default-a", {}, ("shop/growth-0",)),
    },
)
async def test_its_pool_goes_before(world, name, labels, own_pods):
    await world.add_node(name, **labels)
    await world.add_pods(1, prefix="growth", node_name=name)
    world.ports = replace(world.ports, own_pods=frozenset(own_pods))
    await delete_with_machines(world)
    await world.carry_out(nothing())
    assert await world.names(NODE_REMOVAL_REQUESTS) == []
    assert await world.names(NODE_POOLS) == []


async def test_the_pool_stays_until_everything_is_written(world):
    await machines_in_all_phases(world)
    await delete_with_machines(world)

    world.cluster.refuse_writes(Rejected("forbidden"), "create", NODE_REMOVAL_REQUESTS, name="default-old")
    result = await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == ["default"]
    assert result.is_open
    world.cluster.refuse = None
    await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == []
    assert "default-old" in await world.names(NODE_REMOVAL_REQUESTS)


async def test_a_removal_past_its_point_of_no_return_is_left_alone(world):
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-a"))
    await world.set_status(NODE_REMOVAL_REQUESTS, "default-a", phase="Deprovisioning")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing())
    [going] = await world.items(NODE_REMOVAL_REQUESTS)
    assert "cancel" not in going["status"]
    assert await world.names(NODE_POOLS) == []


async def test_a_request_that_became_ready_meanwhile_is_not_deleted(world):
    await world.cluster.create(NODE_REQUESTS, request("default-a"))
    await world.set_status(NODE_REQUESTS, "default-a", phase="Provisioning")
    await world.cluster.delete(NODE_POOLS, "default")

    async def become_ready():
        await world.set_status(NODE_REQUESTS, "default-a", phase="Ready")

    world.cluster.call_before("delete", NODE_REQUESTS, become_ready)
    await world.carry_out(nothing())
    [ready] = await world.items(NODE_REQUESTS)
    assert "deletionTimestamp" not in ready["metadata"]
    # The next round sees a Ready machine, which stays.
    await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == []
    assert await world.names(NODE_REQUESTS) == ["default-a"]


@pytest.mark.parametrize("name", ["nodepools", "noderequests", "noderemovalrequests", "kwoknodeclasses"])
async def test_removing_the_definitions_drops_the_finalizers_and_touches_no_server(world, name):
    await machines_in_all_phases(world)
    reads = world.provider.reads
    await delete_with_machines(world)
    await world.cluster.delete(CRDS, f"{name}.growth.dev")
    result = await world.carry_out(nothing())
    try:
        assert await world.names(NODE_POOLS) == []
    except NotFound:
        assert name == "nodepools"
    assert world.provider.reads == reads
    for resource in (NODE_REQUESTS, NODE_REMOVAL_REQUESTS):
        # Marked by the removal of their definition at most, never by the round.
        if resource.plural != name:
            assert all("deletionTimestamp" not in item["metadata"] for item in await world.items(resource))
    assert len(await world.items(NODE_REMOVAL_REQUESTS)) == 1
    assert "CRDs are being removed" in result.summary


async def test_while_definitions_go_objects_without_a_workflow_are_still_started(world):
    await world.cluster.create(NODE_REQUESTS, request("default-a"))
    await world.cluster.delete(CRDS, "noderequests.growth.dev")
    result = await world.carry_out(nothing())
    assert [request.name for request in result.requests] == ["default-a"]
    assert result.is_open


async def test_an_unreadable_class_reference_keeps_the_pool_and_says_so(world, caplog):
    odd = pool("odd", template={"classRef": {"kind": "no kind"}})
    odd["metadata"] |= {"finalizers": [FINALIZER], "annotations": {ANNOTATION_DELETE_MACHINES: "yes"}}
    await world.cluster.create(NODE_POOLS, odd)
    await world.cluster.delete(NODE_POOLS, "odd")
    await world.carry_out(nothing())
    assert await world.names(NODE_POOLS) == ["default", "odd"]
    assert "end of the deleted pool odd" in caplog.text
