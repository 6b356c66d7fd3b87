"""A version of the code that does not fit the histories of the one before: a careless change."""

from datetime import timedelta

from temporalio import workflow

from planner.lifecycle.kinds import ObjectId
from workflows.node_request import NodeRequestWorkflow


@workflow.defn(name="NodeRequest")
class Careless(NodeRequestWorkflow):
    """One more timer at the start."""

    @workflow.init
    def __init__(self, subject: ObjectId) -> None:
        super().__init__(subject)

    @workflow.run
    async def run(self, _subject: ObjectId) -> str:
        await workflow.sleep(timedelta(seconds=0.01))
        return await self.drive()
