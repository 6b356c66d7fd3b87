import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio import workflow
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from activities.kube.cache import Cache
from activities.objects.start_notes import note_on_removal, note_on_request
from activities.ports.cluster import NAMESPACES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from activities.ports.errors import Unreachable
from activities.ports.ports import Ports
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.model.round import planner_workflow_id
from simulator.apiserver.cluster import MemoryCluster
from tests.builders import node_removal_request, node_request
from worker.runtime.keeper import Keeper
from worker.settings import task_queue
from worker.temporal.namespace import RETENTION
from workflows.messages import CLUSTER, OFFERING, PHASE, POOL
from workflows.planner_details import ABOUT


def ports_of(cluster: MemoryCluster, name: str) -> Ports:
    return Ports(
        cluster=cluster,
        reader=cluster,
        providers={},
        now=lambda: datetime.now(UTC),
        cluster_name=name,
        namespace="growth-system",
    )


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: datetime.now(UTC))


@pytest.fixture
def keeper(client, cluster, cluster_name):
    return Keeper(client, ports_of(cluster, cluster_name))


async def request_in(cluster: MemoryCluster, name: str = "m-1") -> ObjectId:
    created = await cluster.create(NODE_REQUESTS, node_request(name))
    return ObjectId(name=name, uid=created["metadata"]["uid"])


async def removal_in(cluster: MemoryCluster, name: str = "m-2") -> ObjectId:
    created = await cluster.create(NODE_REMOVAL_REQUESTS, node_removal_request(name))
    return ObjectId(name=name, uid=created["metadata"]["uid"])


async def run_id(client: Client, workflow_id: str) -> str | None:
    """Return the run of a running workflow, None without one."""
    try:
        found = await client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return None
    return found.run_id if found.status is not None and found.status.name == "RUNNING" else None


async def test_the_planner_is_started_once_and_again_when_it_vanished(client, keeper, cluster_name):
    await keeper.ensure()
    first = await run_id(client, planner_workflow_id(cluster_name))
    await keeper.ensure()
    assert await run_id(client, planner_workflow_id(cluster_name)) == first is not None
    await client.get_workflow_handle(planner_workflow_id(cluster_name)).terminate()
    await keeper.ensure()
    second = await run_id(client, planner_workflow_id(cluster_name))
    assert second not in {first, None}


async def test_the_namespace_of_our_own_objects_is_made(keeper, cluster):
    await keeper.ensure()
    await keeper.ensure()
    assert (await cluster.get(NAMESPACES, "growth-system"))["metadata"]["name"] == "growth-system"


async def test_each_object_without_a_workflow_gets_one(client, keeper, cluster, cluster_name):
    request = REQUEST.workflow_id(cluster_name, await request_in(cluster))
    removal = REMOVAL.workflow_id(cluster_name, await removal_in(cluster))
    await keeper.sweep()
    runs = [await run_id(client, request), await run_id(client, removal)]
    assert None not in runs
    await keeper.sweep()
    assert [await run_id(client, request), await run_id(client, removal)] == runs
    await client.get_workflow_handle(request).terminate()
    await until(keeper.sweep, lambda: run_id(client, request))
    assert await run_id(client, removal) == runs[1]


async def test_what_it_starts_reads_as_what_the_planner_starts(client, keeper, cluster, cluster_name):
    ids = (
        REQUEST.workflow_id(cluster_name, await request_in(cluster)),
        REMOVAL.workflow_id(cluster_name, await removal_in(cluster)),
    )
    await keeper.ensure()
    await keeper.sweep()
    objects = [await cluster.get(NODE_REQUESTS, "m-1"), await cluster.get(NODE_REMOVAL_REQUESTS, "m-2")]
    for workflow_id, note in zip(ids, [note_on_request(objects[0], {}), note_on_removal(objects[1], {})], strict=True):
        found = await client.get_workflow_handle(workflow_id).describe()
        assert await found.static_summary() == note.summary
        assert await found.static_details() == note.details
        shown = found.typed_search_attributes
        assert [shown.get(key) for key in (CLUSTER, POOL, OFFERING, PHASE)] == [
            cluster_name,
            "default",
            "cx22 fsn1",
            "Pending",
        ]
    planner = await client.get_workflow_handle(planner_workflow_id(cluster_name)).describe()
    assert await planner.static_details() == ABOUT


class Counted(MemoryCluster):
    """A cluster that counts what it is asked."""

    def __init__(self):
        super().__init__(lambda: datetime.now(UTC))
        self.asked = []

    async def list(self, resource, **options):
        self.asked.append(f"list {resource.plural}")
        return await super().list(resource, **options)

    async def get(self, resource, name, **options):
        self.asked.append(f"get {resource.plural}")
        return await super().get(resource, name, **options)


async def cached(cluster: MemoryCluster, name: str) -> Ports:
    """Return ports whose reader has what is there now, and learns of no change."""
    cache = Cache(cluster, (NAMESPACES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS))
    for store in cache._stores.values():
        await cache._list(store)
    return replace(ports_of(cluster, name), reader=cache)


async def test_a_pass_in_which_nothing_is_missing_asks_nothing_of_the_api_server(client, cluster_name):
    cluster = Counted()
    await cluster.create(NAMESPACES, {"metadata": {"name": "growth-system"}})
    requests = [REQUEST.workflow_id(cluster_name, await request_in(cluster, f"m-{number}")) for number in range(3)]
    keeper = Keeper(client, await cached(cluster, cluster_name))
    await keeper.ensure()
    await keeper.sweep()
    query = f"TaskQueue = '{task_queue(cluster_name)}' AND WorkflowType = 'NodeRequest'"

    async def are_listed():
        return (await client.count_workflows(query)).count == len(requests)

    await until(lambda: asyncio.sleep(0.1), are_listed)
    cluster.asked.clear()
    await keeper.ensure()
    await keeper.sweep()
    assert cluster.asked == []


async def test_an_object_that_only_the_cache_has_gets_no_workflow(client, cluster_name):
    cluster = Counted()
    request = await request_in(cluster)
    keeper = Keeper(client, await cached(cluster, cluster_name))
    await cluster.patch(NODE_REQUESTS, request.name, [{"op": "remove", "path": "/metadata/finalizers"}])
    await cluster.delete(NODE_REQUESTS, request.name)
    await keeper.sweep()
    assert await run_id(client, REQUEST.workflow_id(cluster_name, request)) is None


async def test_an_object_that_the_cache_has_not_seen_yet_keeps_its_workflow_undisturbed(client, cluster_name):
    cluster = Counted()
    ports = await cached(cluster, cluster_name)
    request = await request_in(cluster)
    workflow_id = REQUEST.workflow_id(cluster_name, request)
    await Keeper(client, ports_of(cluster, cluster_name)).sweep()

    async def is_listed():
        return (await client.count_workflows(f"WorkflowId = '{workflow_id}'")).count == 1

    await until(lambda: asyncio.sleep(0.1), is_listed)
    await Keeper(client, ports).sweep()
    events = [event async for event in client.get_workflow_handle(workflow_id).fetch_history_events()]
    assert not any(event.HasField("workflow_execution_signaled_event_attributes") for event in events)


async def test_a_namespace_that_only_the_cache_lacks_is_asked_for_and_not_made_again(client, cluster_name):
    cluster = Counted()
    ports = await cached(cluster, cluster_name)
    made = await cluster.create(NAMESPACES, {"metadata": {"name": "growth-system"}})
    await Keeper(client, ports).ensure()
    assert cluster.asked[-1] == "get namespaces"
    assert (await cluster.get(NAMESPACES, "growth-system"))["metadata"]["uid"] == made["metadata"]["uid"]


@workflow.defn(name="NodeRequest", sandboxed=False)
class Broken:
    """Stands for a version whose code does not fit the history any more."""

    @workflow.run
    async def run(self, _subject: ObjectId) -> None:
        raise RuntimeError("does not fit")


@workflow.defn(name="Planner", sandboxed=False)
class BrokenPlanner:
    @workflow.run
    async def run(self, _state: dict) -> None:
        raise RuntimeError("does not fit")


async def test_workflows_whose_tasks_keep_failing_are_ended_and_started_again(client, keeper, cluster, cluster_name):
    request = REQUEST.workflow_id(cluster_name, await request_in(cluster))
    planner = planner_workflow_id(cluster_name)
    await keeper.ensure()
    await keeper.sweep()
    before = {one: await run_id(client, one) for one in (request, planner)}
    async with Worker(client, task_queue=task_queue(cluster_name), workflows=[Broken, BrokenPlanner]):
        await until(lambda: asyncio.sleep(0.1), lambda: are_marked(client, cluster_name, 2))
        await keeper.end_failing()
        assert {one: await run_id(client, one) for one in (request, planner)} == before
        await keeper.end_failing()
        await keeper.sweep()
    after = {one: await run_id(client, one) for one in (request, planner)}
    assert None not in after.values()
    assert after[request] != before[request]
    assert after[planner] != before[planner]
    old = await client.get_workflow_handle(request, run_id=before[request]).describe()
    assert old.status is not None
    assert old.status.name == "TERMINATED"


async def test_a_missing_namespace_is_made_with_its_retention_and_attributes(dev_server, cluster, cluster_name):
    client = await Client.connect(dev_server, namespace=f"fresh-{cluster_name}", data_converter=pydantic_data_converter)
    keeper = Keeper(client, ports_of(cluster, cluster_name))
    await keeper.prepare()
    assert await run_id(client, planner_workflow_id(cluster_name)) is not None
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    assert found.config.workflow_execution_retention_ttl.ToTimedelta() == RETENTION


async def test_a_pass_that_fails_is_made_again(client, cluster, cluster_name, monkeypatch):
    keeper = Keeper(client, ports_of(cluster, cluster_name), period=timedelta(seconds=0.05))
    request = REQUEST.workflow_id(cluster_name, await request_in(cluster))
    real, failures = cluster.list, iter(range(2))

    async def list_objects(resource, **options):
        if next(failures, None) is not None:
            raise Unreachable("no answer")
        return await real(resource, **options)

    monkeypatch.setattr(cluster, "list", list_objects)
    loop = asyncio.create_task(keeper.run())
    try:
        async with asyncio.timeout(10):
            while await run_id(client, request) is None:
                await asyncio.sleep(0.05)
    finally:
        loop.cancel()
    assert next(failures, None) is None


@pytest.mark.parametrize("part", ["ensure", "end_failing", "heal"])
async def test_a_part_of_a_pass_that_fails_keeps_no_other_from_its_work(
    client, cluster, cluster_name, monkeypatch, part
):
    async def refuse(_self):
        raise RPCError("column name is not a valid search attribute", RPCStatusCode.INVALID_ARGUMENT, b"")

    monkeypatch.setattr(Keeper, part, refuse)
    keeper = Keeper(client, ports_of(cluster, cluster_name), period=timedelta(seconds=0.05))
    request = REQUEST.workflow_id(cluster_name, await request_in(cluster))
    loop = asyncio.create_task(keeper.run())
    try:
        await until(lambda: asyncio.sleep(0), lambda: run_id(client, request))
    finally:
        loop.cancel()


async def are_marked(client: Client, cluster_name: str, count: int) -> bool:
    query = f"TaskQueue = '{task_queue(cluster_name)}' AND TemporalReportedProblems IS NOT NULL"
    return (await client.count_workflows(query)).count == count


async def until(again, holds) -> None:
    """Repeat what lags behind until it holds."""
    async with asyncio.timeout(30):
        while True:
            await again()
            if await holds():
                return
            await asyncio.sleep(0.2)
