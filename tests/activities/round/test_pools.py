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
from planner.model.plan import Plan, PlannedRemoval, PlannedRequest, PlanResult, PoolReport
from tests.activities.bodies import pool, removal, request
from tests.activities.rounds import CLASS, World


@pytest.fixture
async def world():
    world = World()
    await world.install()
    await world.run(activities=world.activities(planner=nothing))
    return world


def nothing(_snapshot):
    return Plan(result=PlanResult.NO_DEMANDS)


async def annotate(world, resource, name, **annotations):
    values = {f"growth.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    await world.cluster.put(resource, name, "/metadata/annotations", values)


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
    [found] = await world.items(NODE_POOLS)
    assert found["metadata"]["finalizers"] == [FINALIZER]


async def test_the_finalizers_of_others_are_kept(world):
    other = pool("other")
    other["metadata"]["finalizers"] = ["example.com/mine"]
    await world.cluster.create(NODE_POOLS, other)
    await world.carry_out(nothing(None))
    found = await world.cluster.get(NODE_POOLS, "other")
    assert found["metadata"]["finalizers"] == ["example.com/mine", FINALIZER]


async def test_a_status_is_written_when_it_differs_and_only_then(world):
    status = NodePoolStatus(observed_generation=1, nodes=PoolCounts(ready=2, total=2))
    plan = Plan(result=PlanResult.NO_DEMANDS, pools=(PoolReport(name="default", status=status, delta=0),))
    await world.carry_out(plan)
    written = await world.cluster.get(NODE_POOLS, "default")
    assert written["status"]["nodes"]["ready"] == 2
    world.cluster.writes.clear()
    await world.carry_out(plan)
    assert not [write for write in world.cluster.writes if "nodepools" in write]


async def test_a_status_about_an_older_spec_is_not_written(world):
    status = NodePoolStatus(observed_generation=1, nodes=PoolCounts(ready=2))
    plan = Plan(result=PlanResult.NO_DEMANDS, pools=(PoolReport(name="default", status=status, delta=0),))

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
    await world.carry_out(nothing(None))
    status = (await world.cluster.get(NODE_POOLS, "odd"))["status"]
    [condition] = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Ready", "False", "Unreadable")
    assert condition["message"] == "spec.serverTypes[0].max: must be a whole number, not 'many'"
    assert status["currency"] == "EUR"
    world.cluster.writes.clear()
    world.pass_time(timedelta(minutes=1))
    await world.carry_out(nothing(None))
    assert not [write for write in world.cluster.writes if "nodepools" in write]


async def test_an_unreadable_status_of_an_unreadable_pool_is_replaced(world):
    await world.cluster.create(NODE_POOLS, pool("odd", serverTypes=[]))
    await world.set_status(NODE_POOLS, "odd", conditions="none")
    await world.carry_out(nothing(None))
    status = (await world.cluster.get(NODE_POOLS, "odd"))["status"]
    assert [one["type"] for one in status["conditions"]] == ["Ready"]


async def test_a_deleted_pool_cancels_what_is_coming_and_cooling_and_goes_while_its_machines_stay(world):
    await machines_in_all_phases(world)
    await world.cluster.delete(NODE_POOLS, "default")
    result = await world.carry_out(nothing(None))
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
    [found] = await world.items(NODE_POOLS)
    bought = PlannedRequest(
        ordinal=0,
        pool="default",
        pool_uid=found["metadata"]["uid"],
        server_type="cx22",
        location="fsn1",
        class_ref=CLASS,
        price_per_hour=0,
        seats=(),
        reserve=True,
        why="A test",
    )
    begun = PlannedRemoval(
        node="default-old",
        server="default-old",
        provider_id=None,
        pool="default",
        server_type="cx22",
        location="fsn1",
        class_ref=CLASS,
        reason="Empty",
        why="A test",
        at=world.now(),
    )
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(Plan(result=PlanResult.ALL_PLACED, requests=(bought,), removals=(begun,)))
    assert await world.names(NODE_REQUESTS) == []
    assert await world.names(NODE_REMOVAL_REQUESTS) == []


async def test_with_the_annotation_all_machines_of_the_pool_are_removed_before_it_goes(world):
    await machines_in_all_phases(world)
    await world.add_node("other-a", pool="other")
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")
    result = await world.carry_out(nothing(None))
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
    assert sorted(one.name for one in result.removals) == ["default-old", "default-ready"]
    assert await world.names(NODE_POOLS) == []


async def test_a_pool_waits_for_a_cancelled_cool_off_before_it_goes_with_its_machines(world):
    await machines_in_all_phases(world)
    await world.set_status(
        NODE_REMOVAL_REQUESTS,
        "default-cooling",
        cancel={"by": "Operator", "at": "2026-01-01T00:00:00Z", "reason": "a test"},
    )
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == ["default"]
    ended = [{"op": "remove", "path": "/metadata/finalizers"}]
    await world.cluster.patch(NODE_REMOVAL_REQUESTS, "default-cooling", ended)
    await world.cluster.delete(NODE_REMOVAL_REQUESTS, "default-cooling")
    await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == []
    removals = {r["metadata"]["name"]: r["spec"]["reason"] for r in await world.items(NODE_REMOVAL_REQUESTS)}
    assert removals == dict.fromkeys(("default-cooling", "default-old", "default-ready"), "PoolDeleted")


async def test_a_node_that_growth_did_not_buy_outlives_the_pool_it_is_labelled_with(world):
    await world.add_node("bare-metal", labels={"growth.dev/pool": "default"})
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing(None))
    assert await world.names(NODE_REMOVAL_REQUESTS) == []
    assert await world.names(NODE_POOLS) == []


async def test_the_machine_that_carries_the_worker_outlives_its_pool(world):
    await world.add_node("default-a")
    await world.add_pods(1, prefix="growth", node_name="default-a")
    world.ports = replace(world.ports, own_pods=frozenset({"shop/growth-0"}))
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing(None))
    assert await world.names(NODE_REMOVAL_REQUESTS) == []
    assert await world.names(NODE_POOLS) == []


async def test_the_pool_stays_until_everything_is_written(world):
    await machines_in_all_phases(world)
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")

    def refuse(verb, resource, name):
        if (verb, resource, name) == ("create", NODE_REMOVAL_REQUESTS, "default-old"):
            raise Rejected("forbidden")

    world.cluster.refuse = refuse
    result = await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == ["default"]
    assert result.is_open
    world.cluster.refuse = None
    await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == []
    assert "default-old" in await world.names(NODE_REMOVAL_REQUESTS)


async def test_a_removal_past_its_point_of_no_return_is_left_alone(world):
    await world.cluster.create(NODE_REMOVAL_REQUESTS, removal("default-a"))
    await world.set_status(NODE_REMOVAL_REQUESTS, "default-a", phase="Deprovisioning")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing(None))
    [going] = await world.items(NODE_REMOVAL_REQUESTS)
    assert "cancel" not in going["status"]
    assert await world.names(NODE_POOLS) == []


async def test_a_request_that_became_ready_meanwhile_is_not_deleted(world):
    await world.cluster.create(NODE_REQUESTS, request("default-a"))
    await world.set_status(NODE_REQUESTS, "default-a", phase="Provisioning")
    await world.cluster.delete(NODE_POOLS, "default")
    delete = world.cluster.delete

    async def ready_first(resource, name, **conditions):
        if name == "default-a":
            world.cluster.delete = delete
            await world.set_status(NODE_REQUESTS, "default-a", phase="Ready")
        await delete(resource, name, **conditions)

    world.cluster.delete = ready_first
    await world.carry_out(nothing(None))
    [kept] = await world.items(NODE_REQUESTS)
    assert "deletionTimestamp" not in kept["metadata"]
    # The next round sees a Ready machine, which stays.
    await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == []
    assert await world.names(NODE_REQUESTS) == ["default-a"]


@pytest.mark.parametrize("name", ["nodepools", "noderequests", "noderemovalrequests", "kwoknodeclasses"])
async def test_removing_the_definitions_drops_the_finalizers_and_touches_no_server(world, name):
    await machines_in_all_phases(world)
    reads = world.provider.reads
    await annotate(world, NODE_POOLS, "default", delete_machines="yes")
    await world.cluster.delete(NODE_POOLS, "default")
    await world.cluster.delete(CRDS, f"{name}.growth.dev")
    result = await world.carry_out(nothing(None))
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
    result = await world.carry_out(nothing(None))
    assert [one.name for one in result.requests] == ["default-a"]
    assert result.is_open


async def test_an_unreadable_class_reference_keeps_the_pool_and_says_so(world, caplog):
    odd = pool("odd", template={"classRef": {"kind": "no kind"}})
    odd["metadata"] |= {"finalizers": [FINALIZER], "annotations": {ANNOTATION_DELETE_MACHINES: "yes"}}
    await world.cluster.create(NODE_POOLS, odd)
    await world.cluster.delete(NODE_POOLS, "odd")
    await world.carry_out(nothing(None))
    assert await world.names(NODE_POOLS) == ["default", "odd"]
    assert "end of the deleted pool odd" in caplog.text
