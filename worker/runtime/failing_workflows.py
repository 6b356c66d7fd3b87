"""Workflows whose tasks keep failing: found by search where the server marks them, and looked at in turn elsewhere."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

import structlog
from temporalio.client import Client, WorkflowExecution
from temporalio.service import RPCError, RPCStatusCode

from worker.log_once import LogOnce

log = structlog.stdlib.get_logger(__name__)

MARK: Final = "TemporalReportedProblems"
"""Search attribute that a server of 1.30 or later sets after five failed tasks in a row."""
FAILED_TASKS: Final = 5
LOOKED_AT_ONCE: Final = 50
"""Workflows that one pass looks at, each with a call, where the server does not mark them."""


class FailingWorkflows:
    """Ends the running workflows of a task queue that can make no step; whoever they are for starts them again.

    Args:
        queue: their task queue.
    """

    def __init__(self, queue: str) -> None:
        self._running = f"TaskQueue = '{queue}' AND ExecutionStatus = 'Running'"
        self._found: set[tuple[str, str]] = set()
        self._last_looked_at = ""
        self._told = LogOnce(log)

    async def end(self, client: Client) -> set[str]:
        """End those that two passes in a row found, and return their ids; `client` is of their namespace.

        A worker of an older version may be what fails during a roll-out.

        Raises:
            RPCError: Temporal did not answer, or refused.
        """
        failing = await self._find(client)
        ended: set[str] = set()
        for workflow_id, run_id in failing & self._found:
            log.error(
                "ending a workflow whose tasks keep failing; its object tells where to go on", workflow_id=workflow_id
            )
            try:
                # This very run: the keeper of another worker may have ended it, and begun the next, already.
                await client.get_workflow_handle(workflow_id, run_id=run_id).terminate(
                    "its tasks keep failing; it is started again from its object"
                )
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:
                    raise
            ended.add(workflow_id)
        self._found = failing
        return ended

    async def _find(self, client: Client) -> set[tuple[str, str]]:
        try:
            return {(one.id, one.run_id) for one in await _list(client, f"{self._running} AND {MARK} IS NOT NULL")}
        except RPCError as error:
            if error.status is not RPCStatusCode.INVALID_ARGUMENT or MARK not in error.message:
                raise
        self._told.warn(f"this Temporal server is older than 1.30 and has no {MARK}: workflows are looked at in turn")
        return await self._look_in_turn(client)

    async def _look_in_turn(self, client: Client) -> set[tuple[str, str]]:
        """Return those found before that still fail, and those that fail among the next ones in the order of ids."""
        running = sorted((one.id, one.run_id) for one in await _list(client, self._running))
        next_one = bisect_right(running, self._last_looked_at, key=itemgetter(0))
        turn = (running[next_one:] + running[:next_one])[:LOOKED_AT_ONCE]
        self._last_looked_at = turn[-1][0] if turn else ""
        return {each for each in {*turn, *(self._found & set(running))} if await _fails(client, *each)}


async def _list(client: Client, query: str) -> Sequence[WorkflowExecution]:
    return [one async for one in client.list_workflows(query)]


async def _fails(client: Client, workflow_id: str, run_id: str) -> bool:
    try:
        described = await client.get_workflow_handle(workflow_id, run_id=run_id).describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return False
    return described.raw_description.pending_workflow_task.attempt > FAILED_TASKS
