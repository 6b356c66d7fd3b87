"""The cluster in memory over HTTP, as the client of a real API server sees it."""

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import aiohttp
import pytest

from activities.kube.client import KubeCluster
from activities.ports.cluster import CONFIG_MAPS, EVENTS, NAMESPACES, NODE_POOLS, NODES, PODS
from activities.ports.errors import Conflict, NotFound, Rejected
from simulator.apiserver.cluster import MemoryCluster
from simulator.apiserver.http import application
from tests.activities.kube.test_client import write_kubeconfig
from worker.runtime.web import listen, serve


@pytest.fixture
async def served(tmp_path):
    """A cluster in memory, a client of it over HTTP, and its address."""
    memory = MemoryCluster(lambda: datetime.now(UTC))
    async with serving(memory) as address:
        write_kubeconfig(tmp_path / "config", address)
        client = await KubeCluster.connect(str(tmp_path / "config"))
        yield memory, client, address
        await client.close()


@asynccontextmanager
async def serving(memory):
    resources = (PODS, NODES, NAMESPACES, NODE_POOLS, CONFIG_MAPS, EVENTS)
    with listen("127.0.0.1:0") as listener:
        task = asyncio.create_task(serve(application(memory, resources), listener))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def named(name: str, **fields) -> dict:
    return {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


async def test_what_is_listed_and_read_is_what_is_there(served):
    memory, client, _ = served
    for namespace in ("shop", "lab"):
        await memory.create(NAMESPACES, named(namespace))
        labels = {"labels": {"of": namespace}}
        await memory.create(
            PODS, named("a", spec={"nodeName": f"on-{namespace}"}, metadata=labels), namespace=namespace
        )
    await memory.create(NODE_POOLS, named("default", spec={}))
    await memory.create(NODES, named("n", metadata={"labels": {"a.b/c": "d"}}))
    for resource in (PODS, NODES, NAMESPACES, NODE_POOLS, CONFIG_MAPS):
        assert await client.list(resource) == await memory.list(resource)
    for options in ({"namespace": "shop"}, {"labels": "of=lab"}, {"fields": "spec.nodeName=on-lab"}):
        listed = await client.list(PODS, **options)
        assert len(listed.items) == 1
        assert listed == await memory.list(PODS, **options)
    assert await client.get(PODS, "a", namespace="lab") == await memory.get(PODS, "a", namespace="lab")
    # A Namespace is an object, and the first part of a path to others.
    assert await client.get(NAMESPACES, "shop") == await memory.get(NAMESPACES, "shop")
    assert await client.get(NODE_POOLS, "default") == await memory.get(NODE_POOLS, "default")


async def test_a_field_and_a_status_can_be_patched(served):
    memory, client, _ = served
    await memory.create(NODE_POOLS, named("default", spec={"paused": False}))
    await client.patch(NODE_POOLS, "default", [{"op": "replace", "path": "/spec/paused", "value": True}])
    await client.patch(
        NODE_POOLS, "default", [{"op": "add", "path": "/status", "value": {"nodes": 1}}], subresource="status"
    )
    stored = await memory.get(NODE_POOLS, "default")
    assert (stored["spec"], stored["status"]) == ({"paused": True}, {"nodes": 1})
    with pytest.raises(Conflict):
        await client.patch(NODE_POOLS, "default", [{"op": "test", "path": "/spec/paused", "value": False}])


async def test_what_is_not_there_or_not_answered_is_an_error_of_the_client(served):
    memory, client, _ = served
    for resource in (PODS, NODES):
        with pytest.raises(NotFound):
            await client.get(resource, "none", namespace="shop")
    undefined = type(PODS)("example.org", "v1", "Widget", "widgets", namespaced=True)
    with pytest.raises(NotFound, match="list widgets: the simulated cluster has no such resource"):
        await client.list(undefined)
    with pytest.raises(Rejected, match="does not answer POST /api/v1/namespaces/shop/pods"):
        await client.create(PODS, named("a", spec={}), namespace="shop")
    with pytest.raises(Rejected):
        await client.list(PODS, labels="a in b in c")
    with pytest.raises(Rejected):
        await client.delete(NODES, "n")
    assert (await memory.list(PODS)).items == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/apis",
        "/apis/growth.dev",
        "/api/v1",
        "/api/v1/namespaces/shop/pods/a/status/more",
        "//",
        "/a/b/c/d/e",
    ],
)
async def test_a_path_that_names_nothing_is_a_404(served, path):
    _, _, address = served
    async with aiohttp.ClientSession() as session, session.get(f"{address}{path}") as answer:
        assert (answer.status, (await answer.json())["kind"]) == (404, "Status")


@pytest.mark.parametrize("body", ["", "text", "{}", "[1]", '[{"op": "none"}]', "null"])
async def test_a_patch_that_is_none_is_refused(served, body):
    memory, _, address = served
    made = await memory.create(NODES, named("n"))
    async with aiohttp.ClientSession() as session, session.patch(f"{address}/api/v1/nodes/n", data=body) as answer:
        assert (answer.status, (await answer.json())["code"]) in {(400, 400), (409, 409)}
    assert await memory.get(NODES, "n") == made
