"""Workflows that the planner started and that end otherwise than they should: it waits for none, and nothing complains.

asyncio tells of an exception that nobody asked for when the task that holds it is thrown away.
"""

import asyncio
import gc
import logging
from collections import Counter
from datetime import timedelta

import pytest
from temporalio import activity, workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from planner.lifecycle.kinds import REQUEST, ObjectId
from planner.model.plan import PlanResult
from planner.model.round import RoundInput, RoundResult, planner_workflow_id
from worker.settings import task_queue
from worker.temporal.sandbox import workflow_runner
from workflows.messages import NUDGE, PlannerState
from workflows.planner import PlannerWorkflow

ENDS = ("terminated", "canceled", "failed", "timed_out", "completed")


@workflow.defn(name=REQUEST.workflow, sandboxed=False)
class Ending:
    """Ends as its name says."""

    @workflow.run
    async def run(self, subject: ObjectId) -> str:
        if subject.uid == "again":
            await asyncio.sleep(3600)
        if subject.name == "timed_out":
            workflow.continue_as_new(ObjectId(name=subject.name, uid="again"), run_timeout=timedelta(seconds=1))
        if subject.name == "failed":
            raise ApplicationError("a defect")
        if subject.name != "completed":
            await asyncio.sleep(3600)
        return "done"


@pytest.mark.parametrize("cached", [100, 0], ids=["cached", "replayed at each task"])
async def test_however_a_child_ends_no_exception_is_left_unretrieved(client, cluster_name, caplog, cached):
    """On a real server: one that skips time tells no parent of a child that was terminated."""
    subjects = tuple(ObjectId(name=end, uid=end) for end in ENDS)
    numbers: list[int] = []

    @activity.defn(name="plan_round")
    async def plan_round(asked: RoundInput) -> RoundResult:
        numbers.append(asked.round)
        quiet = RoundResult(result=PlanResult.NO_DEMANDS, summary="nothing to do")
        return quiet.model_copy(update={"requests": subjects}) if asked.round == 1 else quiet

    queue = task_queue(cluster_name)
    with caplog.at_level(logging.INFO):
        async with Worker(
            client,
            task_queue=queue,
            workflows=[PlannerWorkflow, Ending],
            activities=[plan_round],
            workflow_runner=workflow_runner(),
            max_cached_workflows=cached,
        ):
            planner = await client.start_workflow(
                "Planner", PlannerState(), id=planner_workflow_id(cluster_name), task_queue=queue
            )
            await seen_in(planner, {"child_workflow_execution_started_event_attributes": len(ENDS)})
            by_end = {one.name: client.get_workflow_handle(REQUEST.workflow_id(cluster_name, one)) for one in subjects}
            await by_end["terminated"].terminate("a person, in the UI")
            await by_end["canceled"].cancel()
            await seen_in(planner, {f"child_workflow_execution_{end}_event_attributes": 1 for end in ENDS})
            await planner.signal(NUDGE, "another round")
            await seen_in(planner, {"activity_task_completed_event_attributes": 2})
            gc.collect()
            status = (await planner.describe()).status
            await planner.terminate()
        gc.collect()
    assert numbers == [1, 2]
    assert status == WorkflowExecutionStatus.RUNNING
    assert [line for line in caplog.messages if "never retrieved" in line] == []


async def seen_in(handle: WorkflowHandle, counts: dict[str, int]) -> None:
    """Return when the history has so many events of each kind."""
    async with asyncio.timeout(60):
        while True:
            events = Counter(event.WhichOneof("attributes") for event in (await handle.fetch_history()).events)
            if all(events[kind] >= count for kind, count in counts.items()):
                return
            await asyncio.sleep(0.1)
