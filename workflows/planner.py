"""The planner: one workflow a cluster that runs rounds for ever, each one activity, and starts what they wrote."""

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from planner.lifecycle.kinds import KINDS, LifecycleKind, ObjectId
from planner.model.round import RoundInput, RoundResult, StartNote, cluster_of
from planner.policies.next_round import pause_after, pause_after_failures
from workflows.messages import (
    CLUSTER,
    FAILING,
    NUDGE,
    PLANNER,
    REASON,
    STATE,
    PlannerReport,
    PlannerState,
    short,
    start_attributes,
)
from workflows.planner_details import round_details
from workflows.policies import HEARTBEAT, PLAN, PLAN_ROUND

ROUNDS_PER_RUN: Final = 200
"""About 2200 events without starts: well before Temporal asks for a new run at 4096, and quick to replay."""
AHEAD: Final = Priority(priority_key=1)
"""Rounds share the worker with the lifecycles: behind hundreds of them, a pod would wait for its round."""
FAILURES_TOLD: Final = 3
"""An API server that is restarted costs a round or two."""
NUDGES_TOLD: Final = 5
"""Of many nudges only the reasons of the first are shown; one round answers them all."""


@workflow.defn(name=PLANNER)
class PlannerWorkflow:
    """Plans, starts, waits; never ends by itself and never fails."""

    @workflow.init
    def __init__(self, state: PlannerState) -> None:
        self._state = state
        self._cluster = cluster_of(workflow.info().workflow_id)
        self._nudges: list[str] = []
        self._result = ""
        self._summary = ""
        self._next_at: datetime | None = None

    @workflow.signal(name=NUDGE, description="Runs a round at once. Harmless; needs no input.")
    def nudge(self, reason: str = "") -> None:
        """Run a round at once: something changed."""
        if len(self._nudges) < NUDGES_TOLD:
            self._nudges.append(reason or "asked")

    @workflow.query(name=STATE, description="Tells what the last round did and when the next one comes.")
    def state(self) -> PlannerReport:
        """Tell what the last round did and when the next comes."""
        return PlannerReport(
            round=self._state.round,
            result=self._result,
            summary=self._summary,
            failures=self._state.failures,
            next_at=self._next_at,
            nudges=tuple(self._nudges),
        )

    @workflow.run
    async def run(self, _state: PlannerState) -> None:
        """Run rounds until the history is long enough to go on in a new run, which begins with a round."""
        for _ in range(ROUNDS_PER_RUN):
            pause = await self._round()
            if pause is not None:
                await self._wait(pause)
            if workflow.info().is_continue_as_new_suggested():
                break
        # Nudges of this run need no hand-over: the first thing the next run does is a round.
        await workflow.wait_condition(workflow.all_handlers_finished)
        workflow.continue_as_new(self._state)

    async def _round(self) -> timedelta | None:
        """Run one round and start its children; return how long to wait, None not at all."""
        # Taken before the round: a nudge that comes during it is about a change that it may have missed.
        reasons, self._nudges = self._nudges, []
        self._next_at = None
        # Counted before the round runs: names of requests hold the number, and an attempt that timed out may still run.
        self._state = self._state.model_copy(update={"round": self._state.round + 1})
        workflow.set_current_details(round_details(self.state(), began_at=workflow.now()))
        try:
            done: RoundResult = await workflow.execute_activity(
                PLAN_ROUND,
                RoundInput(
                    run=workflow.info().run_id,
                    round=self._state.round,
                    memory=self._state.memory,
                    versions=self._state.versions,
                ),
                result_type=RoundResult,
                start_to_close_timeout=PLAN.start_to_close,
                heartbeat_timeout=HEARTBEAT,
                retry_policy=PLAN.retry,
                priority=AHEAD,
                summary=short(f"Round {self._state.round}: {', '.join(reasons) or 'timer'}"),
            )
        except ActivityError as error:
            return self._failed(error)
        self._state = self._state.model_copy(
            update={
                "memory": done.memory,
                "versions": done.versions,
                "failures": self._state.failures + 1 if done.failure else 0,
            },
        )
        self._tell_failing()
        self._result = done.result.value
        self._summary = done.summary
        await self._start(done)
        return pause_after(done, workflow.now())

    def _failed(self, error: ActivityError) -> timedelta:
        failures = self._state.failures + 1
        self._state = self._state.model_copy(update={"failures": failures})
        self._tell_failing()
        self._summary = short(f"Round failed: {error.cause or error}")
        workflow.logger.warning("round %d failed: %s", self._state.round, error.cause or error)
        return pause_after_failures(failures)

    async def _start(self, done: RoundResult) -> None:
        """Start a workflow for each object of the round; only the starts are awaited."""
        await asyncio.gather(
            *(
                self._start_one(kind, subject, done.notes.get(subject.uid))
                for kind in KINDS
                for subject in done.starts_of(kind.name)
            )
        )

    async def _start_one(self, kind: LifecycleKind[Any], subject: ObjectId, note: StartNote | None) -> None:
        workflow_id = kind.workflow_id(self._cluster, subject)
        try:
            child = await workflow.start_child_workflow(
                kind.workflow,
                subject,
                id=workflow_id,
                # The child outlives a planner that ends, and a cancelled planner cancels no machine.
                parent_close_policy=ParentClosePolicy.ABANDON,
                cancellation_type=ChildWorkflowCancellationType.ABANDON,
                search_attributes=start_attributes(self._cluster, subject, note),
                static_summary=subject.name if note is None else note.summary,
                static_details=None if note is None else note.details,
            )
        except WorkflowAlreadyStartedError:
            # With reuse ALLOW_DUPLICATE this can only mean that it runs, which is what is wanted.
            workflow.logger.debug("%s runs already", workflow_id)
        else:
            child.add_done_callback(_take_ending)

    def _tell_failing(self) -> None:
        """Let the planner be found among all that fails, while several rounds in a row have failed."""
        known = workflow.info().typed_search_attributes
        is_failing = self._state.failures >= FAILURES_TOLD
        if is_failing and known.get(REASON) != FAILING:
            workflow.upsert_search_attributes([CLUSTER.value_set(self._cluster), REASON.value_set(FAILING)])
        elif not self._state.failures and known.get(REASON) is not None:
            workflow.upsert_search_attributes([REASON.value_unset()])

    async def _wait(self, pause: timedelta) -> None:
        failing = self._state.failures > 0
        self._next_at = workflow.now() + pause
        workflow.set_current_details(round_details(self.state(), began_at=None))
        try:
            await workflow.wait_condition(
                # A back-off is served to its end: nudges come as fast as the outside changes.
                lambda: bool(self._nudges) and not failing,
                timeout=pause,
                timeout_summary=short(f"Round {self._state.round}: {self._summary}; the next comes by the timer"),
            )
        except TimeoutError:
            return


def _take_ending(child: "asyncio.Task[Any]") -> None:
    """Take how a child ended, whoever ended it and however: an ending that nobody takes is logged as an error."""
    if not child.cancelled():
        child.exception()
