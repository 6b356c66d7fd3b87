"""People end, reset and fail workflows by hand, and versions of the code do not fit each other."""

import asyncio
from contextlib import suppress
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from simulator.catalogue import machine
from simulator.scheduling.workloads import Workload
from tests.chaos.acts import ASKED, bound
from tests.chaos.scenarios import BOTH, GOES
from tests.chaos.stage import NAMESPACE_OF_TEMPORAL
from tests.chaos.stories import Story
from tests.chaos.temporal_server import TemporalServer
from tests.replay.careless import Careless
from tests.replay.failing import FAILED, Failing
from worker.runtime import wiring
from worker.temporal.sandbox import WORKFLOWS
from workflows import planner
from workflows.node_request import NodeRequestWorkflow

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]
TIMES = 8


async def each_second(stage, do):
    """Do something to every running workflow, the planner too, again and again while machines come and go."""
    done = 0
    for _ in range(TIMES):
        await asyncio.sleep(1)
        async for one in stage.running():
            with suppress(RPCError):
                await do(one)
                done += 1
    assert done >= TIMES


async def test_workflows_that_a_person_terminates(service, judged):
    async def terminate(stage):
        await each_second(
            stage, lambda one: stage.client.get_workflow_handle(one.id, run_id=one.run_id).terminate("by a person")
        )

    await judged(service, BOTH, "every workflow terminated each second", beside=terminate)


async def test_workflows_that_a_person_resets(service, judged):
    async def reset(stage):
        async def to_the_start(one):
            handle = stage.client.get_workflow_handle(one.id, run_id=one.run_id)
            events = (await handle.fetch_history()).events
            first = [e.event_id for e in events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED][:1]
            for event_id in first:
                await stage.client.workflow_service.reset_workflow_execution(
                    ResetWorkflowExecutionRequest(
                        namespace=NAMESPACE_OF_TEMPORAL,
                        workflow_execution=WorkflowExecution(workflow_id=one.id, run_id=one.run_id),
                        reason="by a person",
                        request_id=str(uuid4()),
                        workflow_task_finish_event_id=event_id,
                    )
                )

        await each_second(stage, to_the_start)

    await judged(service, BOTH, "every workflow reset to its start each second", beside=reset)


async def test_activities_that_a_person_fails(service, judged):
    async def slowly(inner, asked):
        await asyncio.sleep(0.7)
        return await inner.execute_activity(asked)

    failed = []

    async def fail(stage):
        async def pending(one):
            found = await stage.client.get_workflow_handle(one.id, run_id=one.run_id).describe()
            for activity in found.raw_description.pending_activities:
                handle = stage.client.get_async_activity_handle(
                    workflow_id=one.id, run_id=one.run_id, activity_id=activity.activity_id
                )
                await handle.fail(ApplicationError("by a person", non_retryable=True))
                failed.append(activity.activity_type.name)

        await each_second(stage, pending)

    await judged(service, BOTH, "pending activities failed each second", beside=fail, around=slowly)
    assert failed


CARELESS = tuple(Careless if one is NodeRequestWorkflow else one for one in WORKFLOWS)
FAILING = tuple(Failing if one is NodeRequestWorkflow else one for one in WORKFLOWS)

SLOW_BOOT = machine("slow", cpu=2, memory=4, price="0.010", boot_time="5s")


async def burst(stage):
    """Many machines at once, for a while."""
    stage.world.workloads.add(Workload("web", BURST.most, ASKED))
    stage.world.wake()
    await stage.until(bound(BURST.most), "all pods on their machines")
    stage.scale("web", 0)
    await stage.until(lambda v: not v.servers, "no machine left")


BURST = Story("burst", burst, servers=0, most=12)


SLOWLY = Story("slow boot", GOES.play, servers=0, machines=(SLOW_BOOT,))


async def test_a_version_that_does_not_fit(service, judged, monkeypatch):
    """The keeper ends the lifecycles that cannot go on and starts them from their objects."""
    ended = []

    async def deploy(stage):
        await stage.until(lambda v: v.servers, "a machine that boots")
        monkeypatch.setattr(wiring, "WORKFLOWS", CARELESS)
        stage.kill()
        async with asyncio.timeout(60):
            while not (found := await stage.ended("Terminated")):
                await asyncio.sleep(0.2)
        ended.extend(found)

    await judged(service, SLOWLY, "a version that does not fit", beside=deploy)
    assert all(one.startswith("node-request:") for one in ended)


async def test_workflows_that_have_failed(service, judged, monkeypatch):
    """Each that fails is started again from its object, until a version comes that can carry it out."""

    async def deploy_and_roll_back(stage):
        stage.excused = FAILED
        await stage.until(lambda v: v.servers, "a machine that boots")
        monkeypatch.setattr(wiring, "WORKFLOWS", FAILING)
        stage.kill()
        async with asyncio.timeout(60):
            # Twice: one that had failed was started once more.
            while len(await stage.ended("Failed")) < 2:
                await asyncio.sleep(0.2)
        monkeypatch.setattr(wiring, "WORKFLOWS", WORKFLOWS)
        stage.kill()

    await judged(service, SLOWLY, "a version whose workflows fail", beside=deploy_and_roll_back)


async def test_two_versions_at_work_at_the_same_time(service, judged, monkeypatch):
    async def roll_out_and_back(stage):
        monkeypatch.setattr(wiring, "WORKFLOWS", CARELESS)
        stage.join()
        await stage.until(lambda v: v.servers, "a machine that boots")
        monkeypatch.setattr(wiring, "WORKFLOWS", WORKFLOWS)
        await asyncio.sleep(1)
        stage.leave()

    await judged(service, SLOWLY, "two versions at the same time", beside=roll_out_and_back)


async def test_new_runs_in_the_middle_of_a_burst(tmp_path, connect, judged, monkeypatch):
    server = TemporalServer(tmp_path, {"limit.historyCount.suggestContinueAsNew": "40"})
    await server.start(NAMESPACE_OF_TEMPORAL)
    monkeypatch.setattr(planner, "ROUNDS_PER_RUN", 2)
    try:
        service = await connect(server.address)
        new_runs = []

        async def count(stage):
            await stage.until(lambda v: len(v.removals) > 2, "machines that go")
            new_runs.extend(await stage.ended("ContinuedAsNew"))

        await judged(service, BURST, "new runs in a burst", beside=count)
    finally:
        server.kill()
    assert {one.split(":")[0] for one in new_runs} >= {"planner", "node-request"}
