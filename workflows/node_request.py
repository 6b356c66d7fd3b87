"""The lifecycle of a NodeRequest: a machine to create. The steps are `planner.lifecycle.request`'s."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from temporalio import workflow

from planner.lifecycle.kinds import REQUEST, ObjectId
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import RequestObservation
from planner.lifecycle.step import Step
from workflows.lifecycle import Lifecycle
from workflows.policies import Calls
from workflows.request_details import ACCOUNT
from workflows.ui_details import Choice


@workflow.defn(name=REQUEST.workflow)
class NodeRequestWorkflow(Lifecycle[RequestObservation]):
    """Drives one NodeRequest. Cancelling the workflow is deleting the request."""

    kind = REQUEST
    account = ACCOUNT
    calls: ClassVar[Mapping[str, Calls]] = {RequestEffect.CREATE_SERVER: Calls.PROVIDER}

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        """Return the ending of the lifecycle, as a word and a sentence."""
        return await self.drive()

    def decide(self, seen: RequestObservation) -> Step:
        """Return the next step; a cancelled workflow takes its request for deleted."""
        if self._cancel_asked and seen.exists:
            seen = seen.model_copy(update={"deleting": True})
        return self.kind.next_step(seen, None, workflow.now())

    def choices(self, seen: RequestObservation) -> Sequence[Choice]:
        """Return the choices that would have an effect now."""
        return () if self._cancel_asked else super().choices(seen)
