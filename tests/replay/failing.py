"""A version of the code whose workflows fail, which Growth's own never do."""

from typing import Final

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from planner.lifecycle.kinds import ObjectId
from workflows.node_request import NodeRequestWorkflow

FAILED: Final[set[str]] = set()
"""Ids of the runs that failed."""


@workflow.defn(name="NodeRequest")
class Failing(NodeRequestWorkflow):
    """Ends at once, as a failure."""

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        FAILED.add(workflow.info().run_id)
        raise ApplicationError("planted", non_retryable=True)
