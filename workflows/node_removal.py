"""The lifecycle of a NodeRemovalRequest: a machine to remove. The steps are `planner.lifecycle.removal`'s.

What a person asks comes as an update, which answers when it was carried out or says why not; as a
signal of the same name, which is also taken while no worker is up; or as an annotation on the
object, which the activities see (`planner.lifecycle.decision`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from api.v1alpha1.node_removal_request import RemovalPhase
from planner.lifecycle.decision import refusal
from planner.lifecycle.kinds import REMOVAL, ObjectId
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import RemovalObservation
from planner.lifecycle.step import Act, Decision, DecisionKind, Done, Step
from workflows.lifecycle import Lifecycle
from workflows.messages import Asked
from workflows.policies import Calls
from workflows.removal_details import ACCOUNT, DONE, description

REFUSED: Final = "Refused"
"""Type of the error that tells that a decision has no effect."""
ANYONE: Final = Asked()
"""A message without a body, as the Temporal UI sends it."""

_CARRIES_OUT: Final = {
    DecisionKind.CANCEL: (RemovalEffect.CANCEL, RemovalEffect.UNTAINT_NODE, RemovalEffect.FINISH),
    DecisionKind.RETRY: (RemovalEffect.RESUME,),
    DecisionKind.SKIP: (RemovalEffect.SKIP,),
    DecisionKind.ABANDON: (RemovalEffect.ABANDON,),
}


@dataclass(slots=True)
class _Pending:
    """A decision that no step has answered yet."""

    decision: Decision
    done: str = ""
    """The answer once it is carried out; empty until then."""
    refused: str = ""
    """The reason why it has no effect; empty as long as it may have one."""


@workflow.defn(name=REMOVAL.workflow)
class NodeRemovalWorkflow(Lifecycle[RemovalObservation]):
    """Drives one NodeRemovalRequest. Cancelling the workflow is cancelling the removal, while that is possible."""

    kind = REMOVAL
    account = ACCOUNT
    calls: ClassVar[Mapping[str, Calls]] = {
        RemovalEffect.DELETE_SERVER: Calls.PROVIDER,
        RemovalEffect.ABANDON: Calls.PROVIDER,
        RemovalEffect.EVICT: Calls.EVICTIONS,
        RemovalEffect.TELL_DEADLINE: Calls.EVICTIONS,
    }

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)
        self._pending: list[_Pending] = []
        self._cancel_taken = False

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        """Return the ending of the lifecycle, as a word and a sentence."""
        return await self.drive()

    @workflow.signal(name="cancel", description=description(DecisionKind.CANCEL))
    def cancel_signal(self, asked: Asked = ANYONE, /) -> None:
        """Cancel the removal if it is not too late."""
        self._put(DecisionKind.CANCEL, asked)

    @workflow.signal(name="retry", description=description(DecisionKind.RETRY))
    def retry_signal(self, asked: Asked = ANYONE, /) -> None:
        """Try to delete a parked server again."""
        self._put(DecisionKind.RETRY, asked)

    @workflow.signal(name="skip", description=description(DecisionKind.SKIP))
    def skip_signal(self, asked: Asked = ANYONE, /) -> None:
        """Treat a parked server as gone."""
        self._put(DecisionKind.SKIP, asked)

    @workflow.signal(name="abandon", description=description(DecisionKind.ABANDON))
    def abandon_signal(self, asked: Asked = ANYONE, /) -> None:
        """Leave a parked server to its people."""
        self._put(DecisionKind.ABANDON, asked)

    @workflow.update(name="cancel", description=description(DecisionKind.CANCEL))
    async def cancel_update(self, asked: Asked = ANYONE, /) -> str:
        """Cancel the removal and return what was done."""
        return await self._carried_out(DecisionKind.CANCEL, asked)

    @cancel_update.validator
    def _may_cancel(self, _asked: Asked = ANYONE, /) -> None:
        self._check(DecisionKind.CANCEL)

    @workflow.update(name="retry", description=description(DecisionKind.RETRY))
    async def retry_update(self, asked: Asked = ANYONE, /) -> str:
        """Try to delete a parked server again and return what was done."""
        return await self._carried_out(DecisionKind.RETRY, asked)

    @retry_update.validator
    def _may_retry(self, _asked: Asked = ANYONE, /) -> None:
        self._check(DecisionKind.RETRY)

    @workflow.update(name="skip", description=description(DecisionKind.SKIP))
    async def skip_update(self, asked: Asked = ANYONE, /) -> str:
        """Treat a parked server as gone and return what was done."""
        return await self._carried_out(DecisionKind.SKIP, asked)

    @skip_update.validator
    def _may_skip(self, _asked: Asked = ANYONE, /) -> None:
        self._check(DecisionKind.SKIP)

    @workflow.update(name="abandon", description=description(DecisionKind.ABANDON))
    async def abandon_update(self, asked: Asked = ANYONE, /) -> str:
        """Leave a parked server to its people and return what was done."""
        return await self._carried_out(DecisionKind.ABANDON, asked)

    @abandon_update.validator
    def _may_abandon(self, _asked: Asked = ANYONE, /) -> None:
        self._check(DecisionKind.ABANDON)

    def decide(self, seen: RemovalObservation) -> Step:
        """Return the next step, for the oldest decision that still has an effect."""
        if self._cancel_asked and not self._cancel_taken:
            self._cancel_taken = True
            self._put(DecisionKind.CANCEL, Asked(reason="The workflow was cancelled"))
        while self._pending and (why := refusal(seen, self._pending[0].decision.kind)) is not None:
            self._refuse(why)
        decision = self._pending[0].decision if self._pending else None
        step = self.kind.next_step(seen, decision, workflow.now())
        if isinstance(step, Done):
            while self._pending:
                self._refuse("the removal has ended")
        return step

    def answer(self, step: Act, after: RemovalObservation) -> None:
        """Answer the decision that `step` carried out."""
        if not self._pending:
            return
        kind = self._pending[0].decision.kind
        if step.effect not in _CARRIES_OUT[kind]:
            return
        if not _was_carried_out(kind, after):
            return
        self._pending.pop(0).done = DONE[kind]

    def is_asked(self) -> bool:
        """Whether a decision waits for its step."""
        return bool(self._pending) or (self._cancel_asked and not self._cancel_taken)

    def _put(self, kind: DecisionKind, asked: Asked) -> _Pending:
        pending = _Pending(Decision(kind=kind, by=asked.by, reason=asked.reason))
        self._pending.append(pending)
        self.rouse(f"{kind} by {asked.by}")
        return pending

    def _refuse(self, why: str) -> None:
        pending = self._pending.pop(0)
        pending.refused = why
        workflow.logger.info("%s by %s has no effect: %s", pending.decision.kind, pending.decision.by, why)

    def _check(self, kind: DecisionKind) -> None:
        # While an activity runs, perhaps again as its first answer was lost, the removal may be further than what was
        # seen: parked, as its object tells. What is asked then is taken, and answered by what is seen next.
        why = None if self._seen is None or self._is_acting else refusal(self._seen, kind)
        if why is not None:
            raise ApplicationError(f"{self._subject.name}: {why}", type=REFUSED, non_retryable=True)

    async def _carried_out(self, kind: DecisionKind, asked: Asked) -> str:
        pending = self._put(kind, asked)
        await workflow.wait_condition(lambda: bool(pending.done or pending.refused))
        if pending.refused:
            raise ApplicationError(f"{self._subject.name}: {pending.refused}", type=REFUSED, non_retryable=True)
        return pending.done


def _was_carried_out(kind: DecisionKind, after: RemovalObservation) -> bool:
    """Return whether the effect did it: one that lost a race changes nothing, and is asked for again."""
    if not after.exists:
        return True
    match kind:
        case DecisionKind.CANCEL:
            return after.status.cancel is not None
        case DecisionKind.RETRY:
            return after.status.phase is not RemovalPhase.COULD_NOT_REMOVE
        case DecisionKind.SKIP | DecisionKind.ABANDON:
            return False
