"""The workflow of an object with a lifecycle: it drives the course of `planner.lifecycle.course`.

All decisions are the step function's. The workflow adds what only a durable program can: activities
with retries, timers, messages, and the account of it all in the Temporal UI.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeVar

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ActivityError, FailureError, RetryState

from planner.lifecycle.course import run_course
from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.lifecycle.seen import LifecycleObservation
from planner.lifecycle.step import Act, Done, EffectInput, Step, Wait
from planner.model.round import cluster_of, planner_workflow_id
from workflows.messages import (
    CLUSTER,
    DEADLINE,
    FAILING,
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
from workflows.policies import HEARTBEAT, POLICIES, SHORTEST_PAUSE, Calls, pause_after
from workflows.ui_details import Account, Choice, details, waiting

Seen = TypeVar("Seen", bound=LifecycleObservation)

GONE: Final = "Gone"
"""In place of a phase when the object is gone."""
SHORTEST_WAIT: Final = timedelta(seconds=1)
"""The deadline was written by another clock than the workflow's; without a floor their difference is a busy loop."""


class Lifecycle(ABC, Generic[Seen]):
    """Base of the workflows that drive one object. Its state is the object's: it may be started again at any point."""

    kind: ClassVar[LifecycleKind[Any]]
    account: ClassVar[Account[Any]]
    calls: ClassVar[Mapping[str, Calls]] = {}
    """What its activities call, of those that do not only ask the API server."""

    def __init__(self, subject: ObjectId) -> None:
        self._subject = subject
        self._cluster = cluster_of(workflow.info().workflow_id)
        self._seen: Seen | None = None
        self._seen_at: datetime | None = None
        self._step: Step | None = None
        self._end: Done | None = None
        self._trouble = ""
        self._failures = 0
        self._woken = False
        self._why_woken = ""
        self._cancel_asked = False
        self._is_acting = False
        """An activity is under way: the world may be further than what was seen last."""

    @abstractmethod
    def decide(self, seen: Seen) -> Step:
        """Return the next step."""

    def choices(self, seen: Seen) -> Sequence[Choice]:
        """Return the choices that would have an effect now."""
        return self.account.choices(seen)

    def answer(self, step: Act, after: Seen) -> None:
        """Tell whoever asked for `step` that it was carried out."""

    def is_asked(self) -> bool:
        """Whether a message waits for an answer."""
        return self._cancel_asked

    def rouse(self, reason: str) -> None:
        """Look now instead of at the next timer."""
        self._woken = True
        self._why_woken = self._why_woken or reason

    @workflow.signal(name=WAKE, description="Looks at once at what is there now. Harmless; needs no input.")
    def wake(self, reason: str = "") -> None:
        """Look now: something changed."""
        self.rouse(reason or "asked")

    @workflow.query(name=STATE, description="Tells where it stands, what is awaited, and what a person can do now.")
    def state(self) -> LifecycleReport:
        """Tell the phase, what is awaited and what went wrong last."""
        step = self._step
        return LifecycleReport(
            phase="" if self._seen is None else _phase(self._seen),
            reason="" if step is None else self._reason(step),
            message="" if step is None else step.message,
            until=step.until if isinstance(step, Act | Wait) else None,
            trouble=self._trouble,
            choices=() if self._seen is None else tuple(choice.name for choice in self.choices(self._seen)),
        )

    async def drive(self) -> str:
        """Run the lifecycle to its end and return how it ended, as a word and a sentence.

        A workflow cancellation only reaches this coroutine; the course itself runs in a task of its
        own, so that no activity is torn in its middle, and takes the cancellation as a message.
        """
        course = asyncio.create_task(run_course(self.kind, self._subject.name, self))
        while True:
            try:
                ending = await asyncio.shield(course)
                break
            except asyncio.CancelledError:
                # The SDK also cancels a workflow that it evicts from its cache, without a reason.
                if self._cancel_asked or workflow.cancellation_reason() is None:
                    raise
                self._cancel_asked = True
                self.rouse("the workflow was cancelled")
        await workflow.wait_condition(workflow.all_handlers_finished)
        if ending is None:
            workflow.continue_as_new(self._subject)
        ending = self._end or ending
        return f"{ending.reason}: {ending.message}"

    def is_due_to_renew(self) -> bool:
        """Whether the history is long enough to go on in a new run, and nobody waits for an answer of this one."""
        return workflow.info().is_continue_as_new_suggested() and not self.is_asked()

    async def look(self, *, at_rest: bool) -> Seen | None:
        """Look once; what changes during the look asks for another one."""
        at_rest = at_rest and not self._woken
        why, self._why_woken, self._woken = self._why_woken, "", False
        why = why or ("the start" if self._seen is None else "by the timer")
        return await self._run(self.kind.look, None, why, at_rest=at_rest)

    async def run_effect(self, effect: str, act: Act) -> Seen | None:
        """Run an effect: `planner.lifecycle.course.CourseDriver.run_effect`."""
        return await self._run(effect, act)

    def acted(self, act: Act, before: Seen, after: Seen) -> None:
        """Answer whoever asked for the effect, and note how the lifecycle ends if this was its last."""
        self.answer(act, after)
        if before.exists and not after.exists:
            self._end = self.account.ending(self._subject.name, act, before)

    async def _run(self, effect: str, act: Act | None, why: str = "", *, at_rest: bool = False) -> Seen | None:
        """Run an activity and return its result; None after it gave up: the trouble is shown, and a pause is over.

        Args:
            effect: its name.
            act: the step that asks for it; None for a look.
            why: reason of the look.
            at_rest: the look may be one off caches.
        """
        policy = POLICIES[self.calls.get(effect, Calls.API_SERVER)]
        self._is_acting = True
        try:
            seen: Seen = await workflow.execute_activity(
                effect,
                EffectInput(name=self._subject.name, uid=self._subject.uid, act=act, at_rest=at_rest),
                result_type=self.kind.seen,
                start_to_close_timeout=policy.start_to_close,
                schedule_to_close_timeout=policy.schedule_to_close,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=policy.retry,
                summary=short(act.message if act is not None else f"Look: {why}"),
            )
        except ActivityError as error:
            self._trouble = short(f"{effect}: {error.cause or error}")
            workflow.logger.warning("%s", self._trouble)
            self._failures += 1
            pause = pause_after(self._failures, final=error.retry_state is RetryState.NON_RETRYABLE_FAILURE)
            self._describe()
            self._find_by([(CLUSTER, self._cluster), (NODE, self._subject.name), (REASON, FAILING), (DEADLINE, None)])
            await self._sleep(pause, f"Look again after: {self._trouble}")
            return None
        finally:
            self._is_acting = False
        self._trouble = ""
        self._failures = 0
        self._seen = seen
        self._seen_at = workflow.now()
        return seen

    async def wait(self, step: Wait) -> None:
        """Wait until the next look or a message; the timer says for what."""
        now = workflow.now()
        wake_at = step.wake_at(now)
        duration = None if wake_at is None else max(SHORTEST_WAIT, wake_at - now)
        await self._sleep(duration, waiting(step.message, step.until, now))

    async def pause(self, reason: str) -> None:
        """Wait a little, or until a message comes."""
        await self._sleep(SHORTEST_PAUSE, reason)

    async def _sleep(self, duration: timedelta | None, summary: str) -> None:
        try:
            await workflow.wait_condition(lambda: self._woken, timeout=duration, timeout_summary=short(summary))
        except TimeoutError:
            return

    async def nudge(self, reason: str) -> None:
        """Ask the planner for a round."""
        planner = workflow.get_external_workflow_handle(planner_workflow_id(self._cluster))
        try:
            await planner.signal(NUDGE, short(reason))
        except FailureError as error:
            # No planner runs just now; the one that comes begins with a round.
            workflow.logger.info("planner was not nudged: %s", error)

    def tell(self, step: Step, seen: Seen) -> None:
        """Show the next step to people."""
        if isinstance(step, Done):
            step = self._end or step
        self._step = step
        self._describe()
        known = workflow.info().typed_search_attributes
        phase = _phase(seen)
        if isinstance(step, Act) and known.get(PHASE) == phase and known.get(REASON) != FAILING:
            # Done within moments: an event for each would tell nothing that its activity does not.
            return
        self._find_by(
            [
                (CLUSTER, self._cluster),
                (NODE, self._subject.name),
                (POOL, seen.pool or known.get(POOL)),
                (PHASE, phase),
                (REASON, self._reason(step)),
                (DEADLINE, step.until if isinstance(step, Wait) else None),
            ]
        )

    def _reason(self, step: Step) -> str:
        """Return the reason of a step; where that only repeats the phase, the reason on the object."""
        if self._seen is None or isinstance(step, Done) or step.reason != self._seen.status.phase:
            return step.reason
        return self._seen.status.reason or step.reason

    def _find_by(self, wanted: Sequence[tuple[SearchAttributeKey, object]]) -> None:
        """Set the search attributes that are not so yet: each change is an event."""
        known = workflow.info().typed_search_attributes
        updates: list[SearchAttributeUpdate] = [
            key.value_unset() if value is None else key.value_set(value)
            for key, value in wanted
            if known.get(key) != value
        ]
        if updates:
            workflow.upsert_search_attributes(updates)

    def _describe(self) -> None:
        seen = self._seen if self._seen is not None and self._seen.exists else None
        workflow.set_current_details(
            details(
                self.state(),
                facts=() if seen is None else self.account.facts(seen),
                choices=() if seen is None else self.choices(seen),
                how="" if seen is None else self.account.how(self._subject.name, seen, self.choices(seen)),
                looked_at=None if seen is None else self._seen_at,
            )
        )


def _phase(seen: LifecycleObservation) -> str:
    return seen.status.phase.value if seen.exists else GONE
