"""What the loop of both lifecycles adds to their steps: wakes, waits, runs that go on as new, an end of its own."""

import asyncio
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner

from planner.lifecycle.kinds import REMOVAL, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import DecisionSeen, RemovalObservation
from planner.lifecycle.step import EffectInput
from tests.workflows.scripts import DRAWN, NAME, leaving
from tests.workflows.world import QUEUE, Script, clock, running
from workflows.lifecycle import SHORTEST_WAIT, Lifecycle
from workflows.messages import Asked
from workflows.policies import SHORTEST_PAUSE

SUBJECT = ObjectId(name=NAME, uid="u-2")
ID = REMOVAL.workflow_id("test", SUBJECT)
CANCELLED = ["cancel_removal", "untaint_node", "finish_removal"]


async def start(env, workflow_id: str = ID) -> WorkflowHandle:
    return await env.client.start_workflow("NodeRemoval", SUBJECT, id=workflow_id, task_queue=QUEUE)


async def waiting(handle: WorkflowHandle) -> None:
    """Return when it waits for a timer."""
    while not await timers(handle):
        await asyncio.sleep(0.05)


async def cooling(env) -> Script:
    """A removal whose cool-off ends in an hour; nothing is polled meanwhile."""
    script = leaving()
    now = await env.get_current_time()
    script.see(node=DRAWN)
    script.status(tainted_at=now, scale_down_at=now + timedelta(hours=1))
    return script


async def timers(handle: WorkflowHandle) -> list[timedelta]:
    """Return how long each timer of the run was meant to last."""
    events = (await handle.fetch_history()).events
    started = [e.timer_started_event_attributes for e in events if e.HasField("timer_started_event_attributes")]
    return [function.start_to_fire_timeout.ToTimedelta() for function in started]


async def test_what_changes_during_a_look_is_looked_at_without_a_timer(skipping):
    """The look has read the object already when the annotation comes: its wake has to outlive it."""
    script = await cooling(skipping)
    script.on(RemovalEffect.ANSWER, lambda _: script.see(decision=None))
    looks: list[EffectInput] = []

    @activity.defn(name=RemovalEffect.LOOK)
    async def look(asked: EffectInput) -> RemovalObservation:
        seen = script.seen
        looks.append(asked)
        if len(looks) == 1:
            script.see(decision=DecisionSeen(word="cancel", by="kubectl-annotate"))
            await skipping.client.get_workflow_handle(ID).signal("wake", "object changed")
        return seen

    others = [function for function in script.activities() if activity_name(function) != RemovalEffect.LOOK]
    async with running(skipping.client, [look, *others]):
        handle = await start(skipping)
        await handle.result()
        assert await timers(handle) == []
    assert script.deeds == CANCELLED


def activity_name(function) -> str:
    return activity._Definition.must_from_callable(function).name


async def test_a_deadline_by_a_clock_that_is_ahead_is_waited_for_a_second_at_least(skipping):
    """Here it is always 0.3 s away when it is looked at: without a floor the looks would come as fast as they can."""
    script = await cooling(skipping)
    looks = iter(range(4))

    def look(_):
        is_ahead = next(looks, None) is not None
        script.status(scale_down_at=clock() + timedelta(seconds=0.3 if is_ahead else -60))

    script.on(RemovalEffect.LOOK, look)
    async with running(skipping.client, script.activities()):
        handle = await start(skipping)
        await handle.result()
        waited = await timers(handle)
    assert waited
    assert min(waited) >= SHORTEST_WAIT >= timedelta(seconds=1)


async def test_pauses_after_failures_begin_anew_once_something_succeeds(skipping):
    """Pauses grow while failures follow each other: those of an hour ago say nothing of the next one."""
    script = leaving()
    failing: dict[str, str] = {}

    def fail_once(effect: RemovalEffect) -> None:
        real = script.does(effect)

        def run(asked: EffectInput) -> None:
            execution = activity.info().activity_id
            if failing.setdefault(effect, execution) == execution:
                raise ApplicationError("no answer", type="Unreachable")
            real(asked)

        script.on(effect, run)

    fail_once(RemovalEffect.TAINT_NODE)
    fail_once(RemovalEffect.COMMIT)
    async with running(skipping.client, script.activities()):
        handle = await start(skipping)
        await handle.result()
        waited = await timers(handle)
    assert set(failing) == {RemovalEffect.TAINT_NODE, RemovalEffect.COMMIT}
    assert [function for function in waited if function in {SHORTEST_PAUSE, 2 * SHORTEST_PAUSE}] == [SHORTEST_PAUSE] * 2


async def test_a_long_history_goes_on_in_a_new_run_after_messages_are_answered(skipping, monkeypatch):
    """A new run begins from the object alone, so a message that nobody has answered yet would be lost."""
    script = await cooling(skipping)
    long: set[str] = set()
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", lambda info: info.run_id in long)
    async with running(skipping.client, script.activities()):
        handle = await start(skipping)
        await skipping.sleep(20)
        run = (await handle.describe()).run_id
        long.add(run)
        await handle.signal("cancel", Asked(by="Ann"))
        ended = await skipping.client.get_workflow_handle(ID).result()
        old = await skipping.client.get_workflow_handle(ID, run_id=run).fetch_history()
    assert script.deeds == CANCELLED
    assert script.seen.status.cancel.by == "Ann"
    assert ended.startswith("Cancelled: by Ann")
    assert old.events[-1].HasField("workflow_execution_continued_as_new_event_attributes")
    ran = [e.activity_task_scheduled_event_attributes.activity_type.name for e in old.events]
    assert "cancel_removal" in ran


async def test_an_eviction_from_the_cache_is_nobodys_cancel(skipping, monkeypatch):
    """The SDK cancels the tasks of what it evicts, and gives no reason; a person's cancel has one, if an empty one."""
    roused: list[str] = []
    real = Lifecycle.rouse

    def rouse(self, reason: str) -> None:
        roused.append(reason)
        real(self, reason)

    monkeypatch.setattr(Lifecycle, "rouse", rouse)
    script = await cooling(skipping)
    other = REMOVAL.workflow_id("test", ObjectId(name="other", uid="u-3"))
    # One that is started evicts the one before it from a cache for one.
    options = {"max_cached_workflows": 1, "workflow_runner": UnsandboxedWorkflowRunner()}
    async with running(skipping.client, script.activities(), **options):
        await waiting(await start(skipping))
        await waiting(await start(skipping, other))
    assert roused == []
