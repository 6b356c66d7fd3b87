"""`growth removals replay`: failed removals again, one by one, by node, by pool, or all that are parked."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from temporalio.service import RPCError

from activities.objects.kinds import REMOVALS
from activities.objects.start_notes import Prices, listed_prices
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object
from activities.ports.errors import GrowthError, NotFound
from planner.lifecycle.kinds import REMOVAL, ObjectId
from planner.lifecycle.step import DecisionKind
from worker.commands.lifecycles.replay import Deed, ReplayFindings, deed, forecast, is_failure
from worker.commands.lifecycles.replay_look import TOGETHER, Selection, look
from worker.commands.lifecycles.running import UnderWay, Whereabouts, under_way
from worker.commands.lifecycles.send_decision import (
    ANSWERED_WITHIN,
    DecisionRefused,
    Ended,
    ask,
    limit_of,
    tell_of_waiting,
)
from worker.commands.shared.live_cluster import LiveCluster, live_cluster
from worker.commands.shared.tables import count, print_anywhere, table
from worker.errors import USAGE_ERROR, CommandError
from worker.runtime.lifecycle_start import start_lifecycle


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of one removal."""

    findings: ReplayFindings
    message: str
    failed: bool = False


async def replay(
    selection: Selection,
    *,
    reason: str,
    dry_run: bool,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
    where: Whereabouts | None,
) -> None:
    """Print what is meant, its workflow and its server, and replay it unless it is a dry run.

    Raises:
        CommandError: nothing is meant, cluster or Temporal cannot be read, or some were not replayed.
    """
    if selection.is_empty:
        raise CommandError("name removals, or say --node, --pool or --all-parked", USAGE_ERROR)
    running = await under_way(where)
    async with live_cluster(kubeconfig, context, name=running.cluster) as live:
        findings = await look(selection, live, running)
        if dry_run:
            outcomes = [ReplayResult(one, forecast(one), is_failure(one)) for one in findings]
        else:
            outcomes = await carry_out(findings, live, running, reason)
    _print(outcomes, output, dry_run=dry_run)
    failed = [one.findings.name for one in outcomes if one.failed]
    if failed and not dry_run:
        # The table tells of each; a long list would not be one line.
        raise CommandError(f"{count(len(failed), 'removal')} of {len(outcomes)} not replayed: {', '.join(failed[:5])}")


async def carry_out(
    findings: list[ReplayFindings], live: LiveCluster, running: UnderWay, reason: str
) -> list[ReplayResult]:
    """Replay what can be, several at once, and return what came of each; one that fails stops no other.

    Raises:
        CommandError: Temporal does not tell whether there is a worker.
    """
    if all(deed(one) is Deed.NOTHING for one in findings):
        return [ReplayResult(one, forecast(one), is_failure(one)) for one in findings]
    limit, prices = await asyncio.gather(limit_of(running), listed_prices(live.ports))
    deeds = _Deeds(live, running, reason, limit=limit, prices=prices)
    patience = asyncio.create_task(tell_of_waiting(running))
    try:
        return list(await asyncio.gather(*(deeds.do(one) for one in findings)))
    finally:
        patience.cancel()


def _print(outcomes: Sequence[ReplayResult], output: str, *, dry_run: bool) -> None:
    if output == "json":
        print(json.dumps({"dryRun": dry_run, "removals": [_document(one) for one in outcomes]}, indent=2))
        return
    console = Console(highlight=False, markup=False)
    if not outcomes:
        console.print("none")
        return
    rows = table("name", "pool", "phase", "workflow", "server", "would be done" if dry_run else "outcome")
    for outcome in outcomes:
        findings = outcome.findings
        server = f"{findings.server}: {findings.answer}" if findings.answer else findings.server
        rows.add_row(
            findings.name, findings.pool or "-", findings.phase or "-", findings.workflow, server, outcome.message
        )
    print_anywhere(console, lambda paper: paper.print(rows))


def _document(outcome: ReplayResult) -> dict[str, object]:
    findings = outcome.findings
    return {
        "name": findings.name,
        "pool": findings.pool,
        "phase": findings.phase,
        "workflow": findings.workflow,
        "server": findings.server,
        "answer": findings.answer,
        "deed": deed(findings),
        "message": outcome.message,
        "failed": outcome.failed,
    }


class _Deeds:
    """Replays removals of one cluster."""

    def __init__(self, live: LiveCluster, running: UnderWay, reason: str, *, limit: timedelta, prices: Prices) -> None:
        self._live = live
        self._running = running
        self._reason = reason
        self._limit = limit
        self._prices = prices
        self._gate = asyncio.Semaphore(TOGETHER)

    async def do(self, findings: ReplayFindings) -> ReplayResult:
        """Replay one removal; a failure is its result."""
        todo = deed(findings)
        if todo is Deed.NOTHING or findings.subject is None:
            return ReplayResult(findings, forecast(findings), is_failure(findings))
        try:
            async with self._gate:
                started = "" if todo is Deed.RETRY else await self._start(findings.subject)
                retried = "" if todo is Deed.START else await self._retry(findings, findings.subject)
        except DecisionRefused as refused:
            # Another person, or its own timer, was first: it is on its way.
            return ReplayResult(findings, f"left alone: {refused}")
        except NotFound:
            return ReplayResult(findings, "has ended meanwhile")
        except (CommandError, GrowthError) as error:
            return ReplayResult(findings, str(error).removeprefix(f"{findings.name}: "), failed=True)
        return ReplayResult(findings, "; ".join(told for told in (started, retried) if told))

    async def _start(self, subject: ObjectId) -> str:
        note = REMOVALS.start_note(await self._object(subject), self._prices)
        try:
            started = await start_lifecycle(self._running.client, REMOVAL, self._running.cluster, subject, note)
        except RPCError as error:
            raise self._running.failure(error) from error
        if not started:
            return "was started meanwhile"
        waits = (
            "" if self._limit is ANSWERED_WITHIN else f", and goes on when a worker of {self._running.cluster} is up"
        )
        return f"started again from its object{waits}"

    async def _retry(self, findings: ReplayFindings, subject: ObjectId) -> str:
        try:
            return await ask(
                self._running,
                REMOVAL.workflow_id(self._running.cluster, subject),
                DecisionKind.RETRY,
                findings.name,
                self._reason,
                limit=self._limit,
                # Two persons at once, or one whose first command had no answer, mean the same replay.
                update_id=f"replay:{findings.parking}" if findings.parking else None,
            )
        except Ended:
            await self._object(subject)
            raise

    async def _object(self, subject: ObjectId) -> Object:
        """Return the removal.

        Raises:
            NotFound: it has ended.
            GrowthError: it cannot be read.
        """
        item = await self._live.ports.cluster.get(NODE_REMOVAL_REQUESTS, subject.name)
        if item["metadata"]["uid"] != subject.uid:
            raise NotFound(f"NodeRemovalRequest {subject.name} is another one by now")
        return item
