"""The keeper's sweeps with a real Temporal server: zombie objects, workflows of nobody, and what machines leave."""

import asyncio
from datetime import datetime, timedelta

import pytest
from structlog.testing import capture_logs
from temporalio.api.enums.v1 import EventType

from activities.ports.cluster import CONFIG_MAPS, CRDS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import NotFound, Unreachable
from activities.providers.kwok.record import KwokRecords
from planner.lifecycle.garbage import Guards
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from simulator.catalogue import machine, node_class, node_pool
from simulator.world import NAMESPACE, World
from tests.activities import bodies
from worker.ports import ports_on, utc_now
from worker.runtime.keeper import Keeper
from worker.runtime.wiring import temporal_worker
from worker.settings import task_queue

AT_ONCE = Guards(apart=timedelta())
"""Two sweeps in a row are still needed."""


@pytest.fixture
async def world():
    made = World(now=utc_now, seed=1)
    small = machine("small", cpu=2, memory=4, price="0.01")
    await made.apply(node_class([small]), node_pool("default", [{"name": "small"}], limits={"max": 3}))
    return made


@pytest.fixture
def ports(world, cluster_name):
    return ports_on(world.cluster, world.cluster, cluster_name=cluster_name, namespace=NAMESPACE)


@pytest.fixture
def keeper(client, ports):
    return Keeper(client, ports, guards=AT_ONCE)


async def is_there(cluster, resource, name, namespace=None):
    try:
        await cluster.get(resource, name, namespace=namespace)
    except NotFound:
        return False
    return True


async def until(holds, again=None):
    async with asyncio.timeout(30):
        while not await holds():
            if again is not None:
                await again()
            await asyncio.sleep(0.1)


async def started(client, cluster_name, kind, make_id, uid="gone"):
    """A running lifecycle, once it is listed; without a uid, of an object that does not exist."""
    subject = ObjectId(name="m-1", uid=uid)
    workflow_id = make_id(cluster_name, subject)
    handle = await client.start_workflow(kind, subject, id=workflow_id, task_queue=task_queue(cluster_name))

    async def is_listed():
        return (await client.count_workflows(f"WorkflowId = '{workflow_id}'")).count == 1

    await until(is_listed)
    return handle


async def wakes(handle):
    events = [event async for event in handle.fetch_history_events()]
    return sum(event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED for event in events)


@pytest.mark.parametrize("lifecycle", [("NodeRequest", REQUEST.workflow_id), ("NodeRemoval", REMOVAL.workflow_id)])
async def test_a_workflow_whose_object_is_gone_is_woken_and_ends(client, ports, keeper, cluster_name, lifecycle):
    handle = await started(client, cluster_name, *lifecycle)
    await keeper.sweep()
    assert await wakes(handle) == 1
    async with temporal_worker(client, ports):
        assert (await handle.result()).startswith("Gone: ")


async def test_a_workflow_whose_object_was_made_after_the_list_goes_on(
    client, keeper, world, cluster_name, monkeypatch
):
    created = await world.cluster.create(NODE_REQUESTS, bodies.request("m-1", server_type="small"))
    handle = await started(client, cluster_name, "NodeRequest", REQUEST.workflow_id, uid=created["metadata"]["uid"])

    async def nothing(_resource):
        return []

    monkeypatch.setattr(keeper, "_objects", nothing)
    await keeper.sweep()
    assert await wakes(handle) == 0


async def test_while_a_kind_is_unknown_its_workflows_are_left_alone(client, keeper, world, cluster_name):
    handle = await started(client, cluster_name, "NodeRequest", REQUEST.workflow_id)
    await world.cluster.delete(CRDS, f"{NODE_REQUESTS.plural}.{NODE_REQUESTS.group}")
    await keeper.sweep()
    assert await wakes(handle) == 0


async def test_the_workflow_of_an_object_that_is_there_is_not_woken(client, keeper, world, cluster_name):
    created = await world.cluster.create(NODE_REQUESTS, bodies.request("m-1", server_type="small"))
    await keeper.sweep()
    subject = ObjectId(name="m-1", uid=created["metadata"]["uid"])
    handle = client.get_workflow_handle(REQUEST.workflow_id(cluster_name, subject))

    async def is_listed():
        return (await client.count_workflows(f"WorkflowId = '{handle.id}'")).count == 1

    await until(is_listed)
    await keeper.sweep()
    assert await wakes(handle) == 0


@pytest.mark.parametrize("resource", [NODE_REQUESTS, NODE_REMOVAL_REQUESTS])
async def test_a_zombie_gets_a_workflow_that_lets_it_go(client, ports, keeper, world, resource):
    """Deleted while nobody ran, and held by our finalizer."""
    body = bodies.request("m-1") if resource == NODE_REQUESTS else bodies.removal("m-1")
    await world.cluster.create(resource, body)
    await world.cluster.delete(resource, "m-1")
    assert await is_there(world.cluster, resource, "m-1")
    await keeper.sweep()
    async with temporal_worker(client, ports):

        async def is_gone():
            return not await is_there(world.cluster, resource, "m-1")

        await until(is_gone)


async def orphan(world, cluster_name, created_at: datetime):
    labels = {"growth.dev/cluster": cluster_name, "growth.dev/pool": "default", "growth.dev/request": "default-a1"}
    await KwokRecords(world.cluster, NAMESPACE).add(
        "default-a1",
        server_type="small",
        location="fsn1",
        class_name="default",
        created_at=created_at,
        runs_at=created_at,
        labels={**labels, "growth.dev/request-uid": "gone"},
        node={},
    )


async def test_an_orphan_goes_within_two_sweeps_by_a_removal_that_is_carried_out(
    client, ports, keeper, world, cluster_name
):
    await orphan(world, cluster_name, utc_now() - timedelta(hours=1))
    await keeper.heal()
    assert not await is_there(world.cluster, NODE_REMOVAL_REQUESTS, "default-a1")
    await keeper.heal()
    assert await is_there(world.cluster, NODE_REMOVAL_REQUESTS, "default-a1")
    await keeper.sweep()
    async with temporal_worker(client, ports):

        async def is_gone():
            return not await is_there(world.cluster, NODE_REMOVAL_REQUESTS, "default-a1")

        await until(is_gone)
    assert not await is_there(world.cluster, CONFIG_MAPS, "default-a1", NAMESPACE)


async def test_a_sweep_that_cannot_look_is_told_and_made_again(client, ports, world, monkeypatch):
    keeper = Keeper(client, ports, period=timedelta(seconds=0.05), guards=AT_ONCE)
    sweeps = 0

    async def heal():
        nonlocal sweeps
        sweeps += 1
        raise Unreachable("no answer")

    monkeypatch.setattr(keeper._healer, "heal", heal)
    with capture_logs() as lines:
        loop = asyncio.create_task(keeper.run())
        try:
            async with asyncio.timeout(20):
                while sweeps < 2:
                    await asyncio.sleep(0.05)
        finally:
            loop.cancel()
    assert {"event": "garbage was not looked for", "error": "no answer", "log_level": "warning"} in lines
