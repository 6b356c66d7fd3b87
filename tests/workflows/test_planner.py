import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import ParentClosePolicy
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle
from temporalio.exceptions import ApplicationError

from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RequestObservation
from planner.model.plan import PlannerMemory, PlanResult
from planner.model.round import RoundInput, RoundResult, StartNote, planner_workflow_id
from tests.workflows.world import QUEUE, Script, clock, running
from workflows.messages import (
    CLUSTER,
    FAILING,
    NODE,
    OFFERING,
    PHASE,
    POOL,
    REASON,
    PlannerReport,
    PlannerState,
)
from workflows.planner import ROUNDS_PER_RUN

QUIET = RoundResult(result=PlanResult.NO_DEMANDS, summary="nothing to do")
OPEN = QUIET.model_copy(update={"is_open": True})
PARTIAL = QUIET.model_copy(update={"is_partial": True})
NOTE = StartNote(
    summary="a: cx22 in fsn1 shall come",
    details="- **Machine:** cx22 in fsn1",
    pool="default",
    offering="cx22 fsn1",
    phase="Pending",
)


class Rounds:
    """A `plan_round` that answers from a script and remembers what it was asked, and when."""

    def __init__(self, answer: Callable[[RoundInput], RoundResult]) -> None:
        self.asked: list[RoundInput] = []
        self.at: list[float] = []
        self.reasons: list[str] = []
        self._answer = answer
        self._changed = asyncio.Event()

    def activity(self):
        @activity.defn(name="plan_round")
        async def plan_round(asked: RoundInput) -> RoundResult:
            self.asked.append(asked)
            self.at.append(clock().timestamp())
            self._changed.set()
            return self._answer(asked)

        return plan_round

    async def ran(self, count: int) -> None:
        """Return when so many rounds have begun."""
        while len(self.asked) < count:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 60)

    @property
    def gaps(self) -> list[int]:
        """Whole seconds between the rounds."""
        return [round(after - before) for before, after in zip(self.at, self.at[1:], strict=False)]


@asynccontextmanager
async def planning(env, *activities: Callable, seconds: float = 0) -> AsyncIterator[WorkflowHandle]:
    """Run a worker and the planner's workflow, whose handle comes when it has lived for so long."""
    async with running(env.client, activities):
        workflow_id = planner_workflow_id("test")
        handle = await env.client.start_workflow("Planner", PlannerState(), id=workflow_id, task_queue=QUEUE)
        if seconds:
            await env.sleep(seconds)
        yield handle


@pytest.mark.parametrize(
    ("answer", "period"),
    [
        (QUIET, 60),
        (OPEN, 10),
        (OPEN.model_copy(update={"wake_at": "soon"}), 4),
        (QUIET.model_copy(update={"wake_at": "past"}), 1),
        (OPEN.model_copy(update={"wake_at": "late"}), 10),
    ],
    ids=["quiet", "open", "a moment before the timer", "a moment that has passed", "a moment after the timer"],
)
async def test_rounds_come_by_the_timer(skipping, answer, period):
    def plan(_):
        offsets = {"soon": 4, "past": -30, "late": 500}
        if answer.wake_at is None:
            return answer
        return answer.model_copy(update={"wake_at": clock() + timedelta(seconds=offsets[answer.wake_at])})

    rounds = Rounds(plan)
    async with planning(skipping, rounds.activity(), seconds=period * 3 + 0.5):
        pass
    assert rounds.gaps[:2] == [period, period]


async def test_a_nudge_brings_a_round_at_once(skipping):
    rounds = Rounds(lambda _: QUIET)
    async with planning(skipping, rounds.activity()) as handle:
        await rounds.ran(1)
        await handle.signal("nudge", "pod unschedulable")
        await rounds.ran(2)
    assert rounds.gaps == [0]


async def test_a_round_goes_ahead_of_what_lives_do(skipping):
    rounds = Rounds(lambda _: QUIET)
    async with planning(skipping, rounds.activity()) as handle:
        await rounds.ran(1)
        history = await handle.fetch_history()
    asked = [e for e in history.events if e.HasField("activity_task_scheduled_event_attributes")]
    assert [e.activity_task_scheduled_event_attributes.priority.priority_key for e in asked] == [1]


async def test_nudges_during_a_round_are_answered_by_one_more(skipping):
    begun, go_on = asyncio.Event(), asyncio.Event()
    numbers: list[int] = []

    @activity.defn(name="plan_round")
    async def plan_round(asked: RoundInput) -> RoundResult:
        numbers.append(asked.round)
        begun.set()
        await go_on.wait()
        return QUIET

    async with planning(skipping, plan_round) as handle:
        await begun.wait()
        for number in range(20):
            await handle.signal("nudge", f"pod {number}")
        meanwhile = await handle.query("state", result_type=PlannerReport)
        begun.clear()
        go_on.set()
        await asyncio.wait_for(begun.wait(), 10)
        await skipping.sleep(55)
        report = await handle.query("state", result_type=PlannerReport)
    assert meanwhile.nudges == ("pod 0", "pod 1", "pod 2", "pod 3", "pod 4")
    assert report.nudges == ()
    assert numbers == [1, 2]


async def test_what_a_round_returns_comes_back_in_the_next(skipping):
    memory = PlannerMemory(supply="abc")
    rounds = Rounds(lambda _: OPEN.model_copy(update={"memory": memory, "versions": {"pods": "17"}}))
    async with planning(skipping, rounds.activity(), seconds=11) as handle:
        run = (await handle.describe()).run_id
    first, second = rounds.asked[:2]
    assert (first.round, first.memory, first.versions) == (1, PlannerMemory(), {})
    assert (second.round, second.memory, second.versions) == (2, memory, {"pods": "17"})
    assert first.run == second.run == run


async def test_a_round_in_which_the_planner_failed_counts_as_a_failed_one(skipping):
    undecided = OPEN.model_copy(update={"failure": "Nothing was decided: the planner failed: KeyError"})
    rounds = Rounds(lambda asked: undecided if asked.round <= 3 else QUIET)
    async with planning(skipping, rounds.activity(), seconds=25) as handle:
        assert (await handle.query("state", result_type=PlannerReport)).failures == 3
        assert (await handle.describe()).typed_search_attributes.get(REASON) == FAILING
        await skipping.sleep(10)
        assert (await handle.query("state", result_type=PlannerReport)).failures == 0


async def test_a_failed_round_is_not_retried_and_the_next_has_another_number(skipping):
    def plan(asked):
        if asked.round <= 4:
            raise ApplicationError("no answer", type="Unreachable")
        return QUIET

    rounds = Rounds(plan)
    async with planning(skipping, rounds.activity(), seconds=2) as handle:
        report = await handle.query("state", result_type=PlannerReport)
        assert report.failures == 2
        assert report.summary == "Round failed: Unreachable: no answer"
        assert (await handle.describe()).typed_search_attributes.get(REASON) is None  # two failures are an API hiccup
        await handle.signal("nudge", "a nudge does not shorten the back-off")
        await skipping.sleep(4)
        assert (await handle.describe()).typed_search_attributes.get(REASON) == FAILING
        await skipping.sleep(10)
        report = await handle.query("state", result_type=PlannerReport)
        shown = await handle.describe()
        status = shown.status
    assert rounds.gaps == [1, 2, 4, 8]
    assert [asked.round for asked in rounds.asked] == [1, 2, 3, 4, 5]
    assert (report.failures, report.summary) == (0, "nothing to do")
    assert shown.typed_search_attributes.get(REASON) is None
    assert status == WorkflowExecutionStatus.RUNNING


async def test_the_workflows_of_a_round_are_started_and_outlive_the_planner(skipping):
    request, removal = ObjectId(name="a", uid="1"), ObjectId(name="b", uid="2")
    rounds = Rounds(
        lambda asked: QUIET.model_copy(
            update={"requests": (request,), "removals": (removal,), "notes": {"1": NOTE}} if asked.round == 1 else {}
        )
    )
    async with planning(skipping, rounds.activity(), seconds=1) as handle:
        ids = [REQUEST.workflow_id("test", request), REMOVAL.workflow_id("test", removal)]
        described = [await skipping.client.get_workflow_handle(workflow_id).describe() for workflow_id in ids]
        await handle.terminate()
        after = [(await skipping.client.get_workflow_handle(workflow_id).describe()).status for workflow_id in ids]
        events = (await handle.fetch_history()).events
    assert [machine.workflow_type for machine in described] == ["NodeRequest", "NodeRemoval"]
    assert [machine.parent_id for machine in described] == [handle.id] * 2
    assert after == [WorkflowExecutionStatus.RUNNING] * 2
    # The server of these tests ends no children with their parent, whatever was asked for; a real one does.
    started = [e.start_child_workflow_execution_initiated_event_attributes.parent_close_policy for e in events]
    assert [policy for policy in started if policy] == [ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON] * 2
    assert [await machine.static_summary() for machine in described] == ["a: cx22 in fsn1 shall come", "b"]
    assert await described[0].static_details() == "- **Machine:** cx22 in fsn1"
    keys = (CLUSTER, NODE, POOL, OFFERING, PHASE)
    assert [described[0].typed_search_attributes.get(key) for key in keys] == [
        "test",
        "a",
        "default",
        "cx22 fsn1",
        "Pending",
    ]
    # Of the second nothing is known but its name.
    assert [described[1].typed_search_attributes.get(key) for key in keys] == ["test", "b", None, None, None]


async def test_a_workflow_that_runs_already_is_success_and_one_that_ended_is_started_again(skipping):
    subject = ObjectId(name="a", uid="1")
    script = Script(RequestObservation(), RequestEffect)
    script.see(status=script.seen.status.model_copy(update={"phase": "Unmet"}))
    ends = iter([True])

    def finish(_):
        if next(ends, None) is None:
            raise ApplicationError("stay", type="Unreachable")
        script.see(exists=False)

    script.on(RequestEffect.FINISH, finish)
    rounds = Rounds(lambda _: OPEN.model_copy(update={"requests": (subject,)}))
    async with planning(skipping, rounds.activity(), *script.activities(), seconds=1):
        first = await skipping.client.get_workflow_handle(REQUEST.workflow_id("test", subject)).describe()
        assert first.status == WorkflowExecutionStatus.COMPLETED
        script.see(exists=True)
        await skipping.sleep(35)
        second = await skipping.client.get_workflow_handle(REQUEST.workflow_id("test", subject)).describe()
    assert second.run_id != first.run_id
    assert second.status == WorkflowExecutionStatus.RUNNING
    assert len(rounds.asked) >= 4  # and no round failed of it
    assert [asked.round for asked in rounds.asked] == list(range(1, len(rounds.asked) + 1))


async def test_cancelling_the_planner_cancels_no_machine(skipping):
    subject = ObjectId(name="a", uid="1")
    rounds = Rounds(lambda _: QUIET.model_copy(update={"requests": (subject,)}))
    async with planning(skipping, rounds.activity(), seconds=1) as handle:
        await handle.cancel()
        await skipping.sleep(1)
        machine = await skipping.client.get_workflow_handle(REQUEST.workflow_id("test", subject)).describe()
        planner = await handle.describe()
    assert planner.status == WorkflowExecutionStatus.CANCELED
    assert machine.status == WorkflowExecutionStatus.RUNNING
    history = await skipping.client.get_workflow_handle(machine.id).fetch_history()
    assert not [one for one in history.events if one.HasField("workflow_execution_cancel_requested_event_attributes")]


async def test_a_partial_round_goes_on_at_once_and_a_long_history_in_a_new_run(skipping):
    memory = PlannerMemory(supply="kept")

    def plan(asked):
        answer = PARTIAL if asked.round <= ROUNDS_PER_RUN else QUIET
        return answer.model_copy(update={"memory": memory, "versions": {"pods": str(asked.round)}})

    rounds = Rounds(plan)
    async with planning(skipping, rounds.activity()) as handle:
        await rounds.ran(ROUNDS_PER_RUN + 1)
        first = await handle.describe()
    assert first.run_id == rounds.asked[-1].run != rounds.asked[0].run
    assert {asked.run for asked in rounds.asked[:ROUNDS_PER_RUN]} == {rounds.asked[0].run}
    last = rounds.asked[-1]
    assert (last.round, last.memory, last.versions) == (
        ROUNDS_PER_RUN + 1,
        memory,
        {"pods": str(ROUNDS_PER_RUN)},
    )
    assert set(rounds.gaps) == {0}


async def test_what_temporal_calls_a_long_history_goes_on_in_a_new_run_too(skipping, monkeypatch):
    """Rounds that start much grow it long before there are as many as a run may have."""
    long: set[str] = set()
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", lambda info: info.run_id in long)
    rounds = Rounds(lambda asked: long.add(asked.run) or PARTIAL if asked.round == 1 else QUIET)
    async with planning(skipping, rounds.activity()):
        await rounds.ran(2)
    first, second = rounds.asked
    assert (first.round, second.round) == (1, 2)
    assert first.run != second.run


async def test_the_next_round_waits_for_the_starts_of_the_last(skipping):
    """It would find the same objects without a workflow, and a run that goes on as new would forget them."""
    request = ObjectId(name="a", uid="1")
    rounds = Rounds(lambda asked: PARTIAL.model_copy(update={"requests": (request,)}) if asked.round == 1 else QUIET)
    async with planning(skipping, rounds.activity()) as handle:
        await rounds.ran(2)
        events = (await handle.fetch_history()).events
    kinds = ("activity_task_scheduled_event_attributes", "child_workflow_execution_started_event_attributes")
    order = [kind for event in events for kind in kinds if event.HasField(kind)]
    assert order == [kinds[0], kinds[1], kinds[0]]


async def test_what_the_last_round_did_can_be_read(skipping):
    rounds = Rounds(lambda _: OPEN.model_copy(update={"summary": "3 pods, 2 requests"}))
    async with planning(skipping, rounds.activity(), seconds=1) as handle:
        report = await handle.query("state", result_type=PlannerReport)
        details = await handle.query("__temporal_workflow_metadata")
    assert (report.round, report.result, report.summary) == (1, "NoDemands", "3 pods, 2 requests")
    assert report.next_at is not None
    assert "**Round 1** · NoDemands\n\n3 pods, 2 requests" in details.current_details
    assert f"Next round: **{report.next_at:%Y-%m-%d %H:%M:%S} UTC**" in details.current_details
