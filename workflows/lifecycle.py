"""The driver that requests and removals share: look, ask the step function, act or wait.

All decisions are the step function's. The driver adds what only a durable program can: activities
with retries, timers, messages, and the account of it all in the Temporal UI.
"""

import asyncio
from abc import ABC, abstractmethod
from datetime import timedelta
from typing import ClassVar, Final, Generic, TypeVar

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ActivityError, FailureError, RetryState

from planner.lifecycle.seen import RemovalSeen, RequestSeen
from planner.lifecycle.step import Act, Done, EffectInput, Step, Wait
from planner.round import ObjectId, cluster_of, planner_workflow_id
from workflows.messages import (
    CLUSTER,
    DEADLINE,
    NODE,
    NUDGE,
    PHASE,
    POOL,
    REASON,
    STATE,
    WAKE,
    LifecycleReport,
    short,
)
from workflows.policies import HEARTBEAT, SHORTEST_PAUSE, pause_after, policy_of

Seen = TypeVar("Seen", RequestSeen, RemovalSeen)

SHORTEST_WAIT: Final = timedelta(seconds=1)
"""The deadline was written by another clock than the workflow's; without a floor their difference is a busy loop."""


class Lifecycle(ABC, Generic[Seen]):
    """Base of the workflows that drive one object. Its state is the object's: it may be started again at any point."""

    look: ClassVar[str]
    """The activity that only looks."""
    seen_type: type[Seen]

    def __init__(self, subject: ObjectId) -> None:
        self._subject = subject
        self._cluster = cluster_of(workflow.info().workflow_id)
        self._seen: Seen | None = None
        self._step: Step | None = None
        self._trouble = ""
        self._failures = 0
        self._woken = False
        self._cancel_asked = False

    @abstractmethod
    def decide(self, seen: Seen) -> Step:
        """Return the next step."""

    @abstractmethod
    def news(self, before: Seen, after: Seen) -> str | None:
        """Return why the planner should look at once, if it should."""

    def answer(self, step: Act, after: Seen) -> None:
        """Tell whoever asked for `step` that it was carried out."""

    def is_asked(self) -> bool:
        """Whether a message waits for an answer."""
        return self._cancel_asked

    @workflow.signal(name=WAKE)
    def wake(self, reason: str = "") -> None:
        """Look now: something changed."""
        workflow.logger.debug("woken: %s", reason)
        self._woken = True

    @workflow.query(name=STATE)
    def state(self) -> LifecycleReport:
        """Tell the phase, what is awaited and what went wrong last."""
        step = self._step
        return LifecycleReport(
            phase="" if self._seen is None else self._seen.status.phase.value,
            reason="" if step is None else step.reason,
            message="" if step is None else step.message,
            until=step.until if isinstance(step, Act | Wait) else None,
            trouble=self._trouble,
        )

    async def drive(self) -> str:
        """Run the lifecycle to its end and return why it ended.

        A workflow cancellation only reaches this coroutine; the course itself runs in a task of its
        own, so that no activity is torn in its middle, and takes the cancellation as a message.
        """
        course = asyncio.create_task(self._course())
        while True:
            try:
                ending = await asyncio.shield(course)
                break
            except asyncio.CancelledError:
                # The SDK also cancels a workflow that it evicts from its cache, without a reason.
                if self._cancel_asked or workflow.cancellation_reason() is None:
                    raise
                self._cancel_asked = True
                self._woken = True
        await workflow.wait_condition(workflow.all_handlers_finished)
        if ending is None:
            workflow.continue_as_new(self._subject)
        return ending.reason

    async def _course(self) -> Done | None:
        """Return the end of the life, or None when the history is long enough to go on in a new run."""
        seen = await self._looked()
        while True:
            if workflow.info().is_continue_as_new_suggested() and not self.is_asked():
                return None
            step = self.decide(seen)
            self._tell(step, seen)
            match step:
                case Done():
                    return step
                case Act():
                    after = await self._run(step.effect, step)
                    if after is None:
                        seen = await self._looked()
                        continue
                    self.answer(step, after)
                    news = self.news(seen, after)
                    if news is not None:
                        await self._nudge(news)
                    if after == seen:
                        # The effect lost a race and changed nothing; without a pause this could go round and round.
                        await self._sleep(SHORTEST_PAUSE, f"{step.effect} changed nothing: look again")
                        after = await self._looked()
                    seen = after
                case Wait():
                    await self._wait(step)
                    seen = await self._looked()

    async def _looked(self) -> Seen:
        while True:
            # Cleared before the look: what changes during the look asks for another one.
            self._woken = False
            seen = await self._run(self.look, None)
            if seen is not None:
                return seen

    async def _run(self, effect: str, act: Act | None) -> Seen | None:
        """Run an activity; None means that it gave up, was told of, and a pause was made."""
        policy = policy_of(effect)
        try:
            seen: Seen = await workflow.execute_activity(
                effect,
                EffectInput(name=self._subject.name, uid=self._subject.uid, act=act),
                result_type=self.seen_type,
                start_to_close_timeout=policy.start_to_close,
                schedule_to_close_timeout=policy.schedule_to_close,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=policy.retry,
                summary=None if act is None else short(act.message),
            )
        except ActivityError as error:
            self._trouble = short(f"{effect}: {error.cause or error}")
            workflow.logger.warning("%s", self._trouble)
            self._failures += 1
            self._describe()
            pause = pause_after(self._failures, final=error.retry_state is RetryState.NON_RETRYABLE_FAILURE)
            await self._sleep(pause, f"Look again after: {self._trouble}")
            return None
        self._trouble = ""
        self._failures = 0
        self._seen = seen
        return seen

    async def _wait(self, step: Wait) -> None:
        now = workflow.now()
        wake_at = step.wake_at(now)
        await self._sleep(None if wake_at is None else max(SHORTEST_WAIT, wake_at - now), step.message)

    async def _sleep(self, duration: timedelta | None, summary: str) -> None:
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=duration, timeout_summary=short(summary))
        except TimeoutError:
            return

    async def _nudge(self, reason: str) -> None:
        planner = workflow.get_external_workflow_handle(planner_workflow_id(self._cluster))
        try:
            await planner.signal(NUDGE, short(reason))
        except FailureError as error:
            # No planner runs just now; the one that comes begins with a round.
            workflow.logger.info("planner was not nudged: %s", error)

    def _tell(self, step: Step, seen: Seen) -> None:
        self._step = step
        self._describe()
        phase = seen.status.phase.value if seen.exists else "Gone"
        wanted: list[tuple[SearchAttributeKey, object]] = [
            (CLUSTER, self._cluster),
            (NODE, self._subject.name),
            (POOL, seen.pool or workflow.info().typed_search_attributes.get(POOL)),
            (PHASE, phase),
            (REASON, step.reason),
            (DEADLINE, step.until if isinstance(step, Wait) else None),
        ]
        updates: list[SearchAttributeUpdate] = []
        for key, value in wanted:
            if workflow.info().typed_search_attributes.get(key) != value:
                updates.append(key.value_unset() if value is None else key.value_set(value))
        if updates:
            workflow.upsert_search_attributes(updates)

    def _describe(self) -> None:
        report = self.state()
        lines = [f"**{report.phase or 'New'}** · {report.reason}", "", report.message]
        if report.until is not None:
            lines.append(f"Until {report.until:%Y-%m-%d %H:%M:%S} UTC.")
        if report.trouble:
            lines += ["", f"Trouble: {report.trouble}"]
        workflow.set_current_details("\n".join(lines))
