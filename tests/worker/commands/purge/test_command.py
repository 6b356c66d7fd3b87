"""`growth purge` as a person gives it: dry run, refusals, Temporal and its absence, JSON."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from temporalio.service import RPCError
from temporalio.worker import Worker

from activities.kube.kubeconfig import Access
from activities.ports.cluster import (
    CONFIG_MAPS,
    LEASES,
    NAMESPACES,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
)
from activities.ports.errors import Forbidden
from planner.lifecycle.kinds import REMOVAL, ObjectId
from planner.model.round import planner_workflow_id
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.yards import NAME, SPACE, Yard
from tests.worker.conftest import free_port
from worker.commands.lifecycles.running import Whereabouts
from worker.commands.purge import command as purge_command
from worker.commands.purge.command import purge
from worker.commands.shared import live_cluster
from worker.errors import USAGE_ERROR, CommandError
from worker.ports import utc_now
from worker.runtime.cluster_uid import CLUSTER_UID_MEMO
from worker.settings import task_queue
from worker.temporal.sandbox import WORKFLOWS, workflow_runner


@pytest.fixture
async def yard(monkeypatch, dev_server, cluster_name):
    made = Yard(cluster_name)
    made._now = utc_now()
    made.cluster.access = Access("context here", "here", "shop")

    async def close():
        return None

    async def lend(*_given, **_options):
        return made.cluster

    made.cluster.close = close
    monkeypatch.setattr(live_cluster, "kube_cluster", lend)
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", dev_server)
    await made.install()
    await MemoryCluster.create(made.cluster, NAMESPACES, {"metadata": {"name": "kube-system"}})
    await made.server()
    await made.node()
    await made.pod()
    await made.removal()
    await made.request("default-a2", phase="Unmet")
    return made


async def given(yard, **options):
    return await purge(where=Whereabouts(cluster=yard.name), **options)


async def left(yard):
    """How many servers, Nodes, requests and removals there are."""
    kinds = (CONFIG_MAPS, NODES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
    return [len((await MemoryCluster.list(yard.cluster, kind)).items) for kind in kinds]


@asynccontextmanager
async def two_workflows(client, yard):
    subject = ObjectId(name=NAME, uid="u-9")
    queue = task_queue(yard.name)
    ids = [planner_workflow_id(yard.name), REMOVAL.workflow_id(yard.name, subject)]
    handles = [
        await client.start_workflow("Planner", {}, id=ids[0], task_queue=queue),
        await client.start_workflow("NodeRemoval", subject, id=ids[1], task_queue=queue),
    ]
    async with asyncio.timeout(20):
        while (await client.count_workflows(f"TaskQueue = '{queue}' AND ExecutionStatus = 'Running'")).count < 2:
            await asyncio.sleep(0.1)
    try:
        yield handles
    finally:
        for handle in handles:
            try:
                await handle.terminate()
            except RPCError:
                continue


async def test_without_a_yes_it_only_shows(client, yard, capsys):
    async with two_workflows(client, yard) as handles:
        assert await given(yard) == 0
        text = capsys.readouterr().out
        assert [(await one.describe()).status.name for one in handles] == ["RUNNING", "RUNNING"]
    assert text.startswith(f"Cluster {yard.name}: 1 server at 0.0060 EUR per hour\n")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert any(row.startswith(f"{NAME} cx22 fsn1 running ") and row.endswith(" 0.0060 deleted") for row in rows)
    assert f"{NAME} 1 deleted, with its pods" in rows
    assert any(row.startswith("workflows 2 node-removal:") and row.endswith(" ended") for row in rows)
    assert "requests 1 default-a2 deleted" in rows
    assert f"removals 1 {NAME} deleted" in rows
    assert "pools 1 default stay: --pools deletes them too" in rows
    assert rows[-1] == "Nothing was removed: --yes removes it"
    assert await left(yard) == [1, 1, 1, 1]


async def test_with_a_yes_all_of_it_goes_and_the_workflows_end(client, yard, capsys):
    async with two_workflows(client, yard) as handles:
        await given(yard, yes=True)
        assert [(await one.describe()).status.name for one in handles] == ["TERMINATED", "TERMINATED"]
    assert await left(yard) == [0, 0, 0, 0]
    lines = capsys.readouterr().out.splitlines()
    assert "2 workflows ended" in lines
    assert "1 of 1 server gone" in lines
    assert lines[-1] == f"Cluster {yard.name} is purged"
    assert len((await MemoryCluster.list(yard.cluster, NODE_POOLS)).items) == 1


async def test_json_says_the_same_and_progress_stays_out_of_it(yard, capsys):
    await given(yard, yes=True, pools=True, without_temporal=True, output="json")
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert (document["cluster"], document["done"], document["obstacle"]) == (yard.name, True, None)
    assert document["pricePerHour"] == {"EUR": "0.006"}
    assert [(one["name"], one["pricePerHour"], one["stays"]) for one in document["servers"]] == [(NAME, "0.006", None)]
    assert document["nodes"] == [{"name": NAME, "pods": 1, "stays": None}]
    assert (document["requests"], document["removals"], document["workflows"]) == (["default-a2"], [NAME], None)
    assert (document["pools"], document["nodeClasses"]) == (["default"], ["KwokNodeClass/default"])
    assert "1 of 1 server gone" in told.err
    assert await left(yard) == [0, 0, 0, 0]


async def test_while_a_worker_is_up_pools_have_to_go_too(client, yard, capsys):
    worker = Worker(client, task_queue=task_queue(yard.name), workflows=WORKFLOWS, workflow_runner=workflow_runner())
    async with worker:
        async with asyncio.timeout(20):
            while "is up and would buy again" not in capsys.readouterr().out:
                await given(yard)
        with pytest.raises(CommandError, match=r"nothing was removed: a worker of cluster .* stop it .* or .* --pools"):
            await given(yard, yes=True)
        assert await left(yard) == [1, 1, 1, 1]
        await given(yard, yes=True, pools=True)
    assert await left(yard) == [0, 0, 0, 0]


@pytest.mark.parametrize(("seconds_ago", "refused"), [(10, True), (200, False)])
async def test_without_temporal_the_last_round_tells_whether_a_worker_is_up(yard, seconds_ago, refused):
    at = utc_now() - timedelta(seconds=seconds_ago)
    lease = {"metadata": {"name": "growth-round"}, "spec": {"renewTime": at.isoformat()}}
    await MemoryCluster.create(yard.cluster, LEASES, lease, namespace=SPACE)
    if refused:
        with pytest.raises(CommandError, match="a worker would buy again: the last round was at"):
            await given(yard, yes=True, without_temporal=True)
    else:
        await given(yard, yes=True, without_temporal=True)
    assert await left(yard) == ([1, 1, 1, 1] if refused else [0, 0, 0, 0])


async def test_when_temporal_is_gone_the_way_without_it_is_told(yard, monkeypatch, tmp_path):
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", f"127.0.0.1:{free_port()}")
    with pytest.raises(CommandError, match=r"cannot be used: connection refused.*; --without-temporal purges without"):
        await given(yard, yes=True)
    assert await left(yard) == [1, 1, 1, 1]


async def test_another_cluster_than_the_one_that_is_meant_is_left_alone(yard):
    with pytest.raises(CommandError, match=f"has machines of cluster {yard.name}, not of typo: name that one"):
        await purge(where=Whereabouts(cluster="typo"), yes=True, pools=True, without_temporal=True)
    assert await left(yard) == [1, 1, 1, 1]


async def test_the_cluster_has_to_be_named(monkeypatch):
    monkeypatch.setenv("GROWTH_CLUSTER", "by-environment")
    with pytest.raises(CommandError, match="--cluster: name the cluster") as refused:
        await purge(yes=True)
    assert refused.value.code == USAGE_ERROR


async def test_what_cannot_be_seen_stops_it_before_it_begins(yard, monkeypatch):
    async def list_servers(cluster):
        raise Forbidden("list: 403", user="ada", verb="list", resource="configmaps", advice="grant it")

    monkeypatch.setattr(
        "activities.providers.kwok.provider.KwokProvider.list", lambda _self, cluster: list_servers(cluster)
    )
    with pytest.raises(CommandError, match="nothing was removed, as not everything can be seen: list: 403"):
        await given(yard, yes=True, without_temporal=True)
    assert await left(yard) == [1, 1, 1, 1]


@pytest.mark.parametrize(("typed", "goes"), [("", False), ("y", False), ("its name", True)])
async def test_a_terminal_is_asked_for_the_name(yard, monkeypatch, typed, goes):
    monkeypatch.setattr(purge_command.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(purge_command.sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _question: f" {yard.name} " if typed == "its name" else typed)
    await given(yard, without_temporal=True)
    assert await left(yard) == ([0, 0, 0, 0] if goes else [1, 1, 1, 1])


async def test_the_workflows_of_another_cluster_of_that_name_are_left(client, yard):
    async with two_workflows(client, yard) as handles:
        await handles[0].terminate()
        other = await client.start_workflow(
            "Planner",
            {},
            id=planner_workflow_id(yard.name),
            task_queue=task_queue(yard.name),
            memo={CLUSTER_UID_MEMO: "theirs"},
        )
        with pytest.raises(
            CommandError, match=f"the planner of cluster {yard.name} .* is another Kubernetes cluster's"
        ):
            await given(yard, yes=True)
        assert [(await one.describe()).status.name for one in (other, handles[1])] == ["RUNNING", "RUNNING"]
        await other.terminate()
    assert await left(yard) == [1, 1, 1, 1]


async def test_without_the_uid_of_the_cluster_nothing_is_removed(yard):
    await MemoryCluster.delete(yard.cluster, NAMESPACES, "kube-system")
    with pytest.raises(CommandError, match="nothing was removed, as the uid of Namespace kube-system is needed"):
        await given(yard, yes=True, without_temporal=True)
    assert await left(yard) == [1, 1, 1, 1]
