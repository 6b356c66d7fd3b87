"""A worker whose cluster's name is another cluster's too: it refuses before it does anything, in one sentence."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.kube.cache import Cache
from activities.ports.cluster import NAMESPACES, NODE_REQUESTS, PODS
from activities.ports.errors import Forbidden, Unreachable
from planner.lifecycle.kinds import REQUEST, ObjectId
from planner.model.round import planner_workflow_id
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.yards import Yard
from tests.worker.runtime.test_keeper import ports_of, run_id
from worker.errors import USAGE_ERROR, CommandError
from worker.ports import cluster_uid, watched
from worker.runtime.cluster_uid import CLUSTER_UID_MEMO, await_cluster_uid, planner_uid
from worker.runtime.keeper import Keeper
from worker.runtime.wiring import at_work
from worker.settings import task_queue

UID = "growth.dev/cluster-uid"
FORBIDDEN = Forbidden("no", user="growth", verb="get", resource="namespaces", advice="apply the base again")


def keeper_of(client: Client, name: str, uid: str) -> Keeper:
    return Keeper(client, replace(ports_of(MemoryCluster(lambda: datetime.now(UTC)), name), cluster_uid=uid))


async def test_the_planner_tells_the_uid_of_its_cluster_and_keeps_it(client, cluster_name):
    await keeper_of(client, cluster_name, "ours").prepare()
    assert await planner_uid(client, cluster_name) == "ours"
    first = await run_id(client, planner_workflow_id(cluster_name))
    await keeper_of(client, cluster_name, "ours").ensure()
    assert await run_id(client, planner_workflow_id(cluster_name)) == first


@pytest.mark.parametrize("call", ["prepare", "ensure"])
async def test_a_worker_of_another_cluster_refuses_and_leaves_the_planner(client, cluster_name, call):
    await keeper_of(client, cluster_name, "ours").prepare()
    first = await run_id(client, planner_workflow_id(cluster_name))
    with pytest.raises(CommandError) as refused:
        await getattr(keeper_of(client, cluster_name, "theirs"), call)()
    assert refused.value.code == USAGE_ERROR
    assert str(refused.value) == (
        f"the planner of cluster {cluster_name} in Temporal namespace {client.namespace} is another Kubernetes "
        "cluster's (its kube-system has the uid ours, this one's theirs), and nothing is done: give this cluster "
        "another name (GROWTH_CLUSTER) or another Temporal namespace (GROWTH_TEMPORAL_NAMESPACE); if the other cluster "
        f"is gone, terminate workflow planner:{cluster_name}"
    )
    assert await run_id(client, planner_workflow_id(cluster_name)) == first
    assert await planner_uid(client, cluster_name) == "ours"


async def test_the_planner_of_an_earlier_version_is_begun_anew_and_lifecycles_go_on(client, cluster_name):
    old = keeper_of(client, cluster_name, "")
    await old.prepare()
    created = await old._ports.cluster.create(NODE_REQUESTS, bodies.request("m-1"))
    request = REQUEST.workflow_id(cluster_name, ObjectId(name="m-1", uid=created["metadata"]["uid"]))
    await old.sweep()
    runs = [await run_id(client, each) for each in (planner_workflow_id(cluster_name), request)]
    assert None not in runs
    assert await planner_uid(client, cluster_name) == ""
    await keeper_of(client, cluster_name, "ours").prepare()
    assert await planner_uid(client, cluster_name) == "ours"
    planner, lifecycle = [await run_id(client, each) for each in (planner_workflow_id(cluster_name), request)]
    assert planner not in {None, runs[0]}
    assert lifecycle == runs[1]
    # A worker of the earlier version that is still up finds a planner, and asks for nothing else.
    await old.ensure()
    assert await run_id(client, planner_workflow_id(cluster_name)) == planner


@workflow.defn(name="Twice")
class Twice:
    """Goes on in a new run once, as the planner does after some rounds."""

    @workflow.run
    async def run(self, runs_before: int) -> None:
        if not runs_before:
            workflow.continue_as_new(1)
        await workflow.wait_condition(lambda: False)


async def test_the_uid_goes_on_from_run_to_run(client, cluster_name):
    """Temporal docs, "Continue-As-New": the memo is the new run's too."""
    queue, workflow_id = task_queue(cluster_name), planner_workflow_id(cluster_name)
    memo = {CLUSTER_UID_MEMO: "ours"}
    async with Worker(client, task_queue=queue, workflows=[Twice], workflow_runner=UnsandboxedWorkflowRunner()):
        handle = await client.start_workflow("Twice", 0, id=workflow_id, task_queue=queue, memo=memo)
        async with asyncio.timeout(30):
            while await run_id(client, workflow_id) in {None, handle.first_execution_run_id}:
                await asyncio.sleep(0.05)
    assert await planner_uid(client, cluster_name) == "ours"
    await client.get_workflow_handle(workflow_id).terminate()


async def test_a_worker_that_finds_servers_of_another_cluster_of_its_name_refuses_before_it_starts_anything(
    client, cluster_name
):
    yard = Yard(cluster_name, uid="ours")
    await yard.install()
    await yard.server("theirs-1", **{UID: "theirs"})
    with pytest.raises(CommandError) as refused:
        await Keeper(client, yard.ports).prepare()
    assert refused.value.code == USAGE_ERROR
    assert str(refused.value) == (
        f"nothing is done: Another Kubernetes cluster is named {cluster_name} too, and buys in the same project: "
        f"1 server (theirs-1) with {UID}=theirs, and this cluster's is ours. None of them is touched. Give one of the "
        "two clusters another name (GROWTH_CLUSTER), or delete these servers at the provider if their cluster is gone"
    )
    assert await run_id(client, planner_workflow_id(cluster_name)) is None
    assert yard.provider.calls == ["list"]


@pytest.mark.parametrize("mark", [{UID: "ours"}, {}])
async def test_own_servers_and_those_of_an_earlier_version_let_it_start(client, cluster_name, mark):
    yard = Yard(cluster_name, uid="ours")
    await yard.install()
    await yard.server(**mark)
    await Keeper(client, yard.ports).prepare()
    assert await planner_uid(client, cluster_name) == "ours"


async def test_a_provider_that_does_not_answer_lets_it_start(client, cluster_name):
    yard = Yard(cluster_name, uid="ours")
    await yard.install()
    await yard.server("theirs-1", **{UID: "theirs"})
    yard.provider.fail["list"] = Unreachable("away")
    await Keeper(client, yard.ports).prepare()
    assert await planner_uid(client, cluster_name) == "ours"


async def test_a_running_worker_touches_none_of_them_and_goes_on(client, cluster_name):
    """The other cluster may have come later: the one that was first serves its own pods."""
    yard = Yard(cluster_name, uid="ours")
    await yard.install()
    keeper = Keeper(client, yard.ports)
    await keeper.prepare()
    await yard.server("theirs-1", **{UID: "theirs"})
    await keeper.ensure()
    await keeper.heal()
    assert await yard.removals() == {}
    assert ("Namespace", "growth-system", "ClusterNameTaken") in await yard.event_reasons()


async def test_the_refusal_ends_the_worker(client, cluster_name):
    yard = Yard(cluster_name, uid="ours")
    await yard.install()
    await yard.server("theirs-1", **{UID: "theirs"})
    cache = Cache(yard.cluster, watched())
    with pytest.raises(ExceptionGroup) as ended:
        async with asyncio.timeout(60), at_work(client, replace(yard.ports, reader=cache), cache):
            pytest.fail("it works")
    (refusal,) = ended.value.exceptions
    assert isinstance(refusal, CommandError)


async def test_the_uid_is_that_of_kube_system():
    cluster = MemoryCluster(lambda: datetime.now(UTC))
    created = await cluster.create(NAMESPACES, {"metadata": {"name": "kube-system"}})
    assert await cluster_uid(cluster) == created["metadata"]["uid"]


async def test_a_worker_waits_for_the_uid_and_says_for_what(monkeypatch):
    monkeypatch.setattr("worker.runtime.cluster_uid.ASK_AGAIN_SECONDS", 0.01)
    answers = [Unreachable("away"), TimeoutError(), FORBIDDEN, FORBIDDEN]
    told, listed = [], []

    class Slow:
        async def get(self, *_given):
            if answers:
                raise answers.pop(0)
            return {"metadata": {"uid": "ours"}}

        async def list(self, resource):
            listed.append(resource)
            if resource == PODS:
                raise Forbidden("no", user="nobody", verb="list", resource="pods", advice="grant it")

    assert await await_cluster_uid(Slow(), told.append) == "ours"
    what = "Namespace kube-system, whose uid is the cluster's"
    assert told[:3] == [what, f"{what}: away", f"{what}: the API server did not answer in time"]
    assert "apply the base again" in told[3]
    assert "user nobody may not list pods" in told[3], "all rights that are missing are told at once"
    assert listed == [*watched(), PODS], "what could be listed is not listed again"
