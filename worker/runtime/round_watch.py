"""Tells of rounds that fail one after the other, however they end: on /readyz, in the log and on the pools.

A round that is cut by its time leaves nothing behind, and it may have run in another worker. So the planner workflow is
asked, which counts the failures.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.round.failing_rounds import tell_pools
from planner.model.round import planner_workflow_id
from planner.policies.next_round import QUIET_PERIOD
from worker.log_once import LogOnce
from workflows.messages import STATE, PlannerReport
from workflows.planner import FAILURES_TOLD

log = structlog.stdlib.get_logger(__name__)

PERIOD: Final = timedelta(seconds=15)
"""Three rounds that are cut by their time take two minutes: this adds little."""
LATE_AFTER: Final = 4 * QUIET_PERIOD
"""Without a new round. A round takes at most a minute, and the next one begins a minute later at the latest."""
ANSWER_LIMIT: Final = timedelta(seconds=5)


class RoundWatch:
    """Runs in every worker: each says of itself whether the cluster is planned for.

    Args:
        client: of the Temporal server.
        ports: the outside world.
        tell: takes one line on what is wrong, and nothing while rounds succeed.
        clock: seconds.
    """

    def __init__(
        self,
        client: Client,
        ports: Ports,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client = client
        self._ports = ports
        self._tell = tell
        self._warnings = LogOnce(log)
        self._lateness = LogOnce(log)
        self._clock = clock
        self._round: int | None = None
        self._round_since = clock()

    async def run(self) -> None:
        """Look every period, for ever."""
        while True:
            await self.look()
            await asyncio.sleep(PERIOD.total_seconds())

    async def look(self) -> None:
        """Ask the planner once, and tell what it says; without an answer, what was told before stays."""
        planner = self.client.get_workflow_handle(planner_workflow_id(self._ports.cluster_name))
        try:
            report = await planner.query(STATE, result_type=PlannerReport, rpc_timeout=ANSWER_LIMIT)
        except (RPCError, WorkflowQueryFailedError) as error:
            log.debug("the planner does not say how its rounds end", error=str(error))
            self._warn_if_late(str(error))
            return
        if report.round != self._round:
            self._round, self._round_since = report.round, self._clock()
            self._lateness.over()
        self._warn_if_late(f"round {report.round} is the last that began")
        if report.failures < FAILURES_TOLD:
            self._tell("")
            self._warnings.over()
            return
        message = f"nothing is bought or removed: the last {report.failures} rounds failed: {report.summary}"
        self._tell(message)
        self._warnings.warn(message, reason=report.summary)
        try:
            await tell_pools(self._ports, message)
        except GrowthError as error:
            log.debug("pools are not told that rounds fail", error=str(error))

    def _warn_if_late(self, why: str) -> None:
        if self._clock() - self._round_since > LATE_AFTER.total_seconds():
            self._lateness.warn("the planner is late: pods may wait for machines that nobody buys", reason=why)
