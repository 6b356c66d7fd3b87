"""The life of a NodeRequest: a machine that shall come. The steps are `planner.lifecycle.request`'s."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from temporalio import workflow

from api.v1alpha1.node_request import RequestPhase
from planner.lifecycle.request import RequestEffect, next_step
from planner.lifecycle.seen import RequestSeen
from planner.lifecycle.step import Act, Done, Step
from planner.model.round import ObjectId
from workflows import request_account
from workflows.account import Choice
from workflows.lifecycle import Lifecycle
from workflows.messages import NODE_REQUEST


@workflow.defn(name=NODE_REQUEST)
class NodeRequestWorkflow(Lifecycle[RequestSeen]):
    """Drives one NodeRequest. Cancelling the workflow is deleting the request."""

    look: ClassVar[str] = RequestEffect.LOOK
    seen_type = RequestSeen

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        """Return how the life ended, as a word and a sentence."""
        return await self.drive()

    def decide(self, seen: RequestSeen) -> Step:
        """Return the next step; a cancelled workflow takes its request for deleted."""
        if self._cancel_asked and seen.exists:
            seen = seen.model_copy(update={"deleting": True})
        return next_step(seen, workflow.now())

    def news(self, before: RequestSeen, after: RequestSeen) -> str | None:
        """Tell the planner of a machine that will not come, and of the end."""
        if not after.exists:
            return f"request {self._subject.name} ended" if before.exists else None
        lost = (RequestPhase.UNMET, RequestPhase.FAILED, RequestPhase.DEPROVISIONING)
        if after.status.phase != before.status.phase and after.status.phase in lost:
            return f"request {self._subject.name} is {after.status.phase}: {after.status.reason}"
        return None

    def facts(self, seen: RequestSeen) -> Iterable[str]:
        """Return what was seen of server, Node and pods."""
        return request_account.facts(seen)

    def choices(self, seen: RequestSeen) -> Sequence[Choice]:
        """Return what a person can do now with an effect."""
        return () if self._cancel_asked else request_account.choices(seen)

    def how(self, seen: RequestSeen) -> str:
        """Return where to do it, or why there is nothing to do."""
        return request_account.how(self._subject.name, self.choices(seen))

    def ending(self, act: Act, before: RequestSeen) -> Done | None:
        """Return how the request ended, if `act` was its last."""
        return request_account.ending(self._subject.name, act, before)
