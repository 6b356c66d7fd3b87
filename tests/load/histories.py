"""What the worker left in its Temporal server: how long rounds took, and how large histories and payloads are."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from tests.e2e.growth_process import GrowthProcess
from worker.settings import Settings
from worker.temporal.client import connect
from worker.temporal.embedded import embedded_address
from workflows.messages import PLANNER
from workflows.policies import PLAN_ROUND

READ_WHOLE: Final = 20
"""Histories of a kind of lifecycle that are read event by event; the planner's are all read."""
AT_ONCE: Final = 16
_FAILURES: Final = (
    EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
)


@dataclass(slots=True)
class Histories:
    """Of one kind of workflow."""

    count: int = 0
    events: int = 0
    """Most in one run."""
    size: int = 0
    """Most bytes in one run."""
    largest_event: int = 0
    """In bytes; no payload is larger than the event that holds it."""
    failures: int = 0
    """Tasks of workflows and attempts of activities that failed or timed out, in the histories that were read whole."""


@dataclass(slots=True)
class Left:
    """All that was left."""

    rounds: list[float] = field(default_factory=list)
    """Seconds of each round, from the worker's start of it until its end."""
    kinds: defaultdict[str, Histories] = field(default_factory=lambda: defaultdict(Histories))
    """By type of workflow."""
    running: Counter[str] = field(default_factory=Counter)
    """Workflows that have not ended, by type."""
    ended: Counter[str] = field(default_factory=Counter)
    """Workflows that ended, by status."""


async def client(growth: GrowthProcess) -> Client:
    """Return a client of the worker's own Temporal server."""
    return await connect(Settings(), embedded_address(growth.data_dir), attempts=5)


async def running(temporal: Client) -> Counter[str]:
    """Return how many workflows of each type have not ended."""
    return Counter([one.workflow_type async for one in temporal.list_workflows("ExecutionStatus = 'Running'")])


async def left(temporal: Client) -> Left:
    """Read what is there."""
    found = Left()
    all_runs = [one async for one in temporal.list_workflows()]
    gate = asyncio.Semaphore(AT_ONCE)

    async def measure(workflow_id: str, run_id: str, kind: str, *, whole: bool) -> None:
        handle = temporal.get_workflow_handle(workflow_id, run_id=run_id)
        async with gate:
            described = (await handle.describe()).raw_description.workflow_execution_info
            history = await handle.fetch_history() if whole else None
        of = found.kinds[kind]
        of.count += 1
        of.events = max(of.events, described.history_length)
        of.size = max(of.size, described.history_size_bytes)
        if history is not None:
            _read(history, of)
            found.rounds += seconds_of(history, PLAN_ROUND)

    seen: Counter[str] = Counter()
    async with asyncio.TaskGroup() as group:
        for one in all_runs:
            assert one.status is not None
            kind = one.workflow_type
            if one.status.name == "RUNNING":
                found.running[kind] += 1
            else:
                found.ended[one.status.name] += 1
            seen[kind] += 1
            whole = kind == PLANNER or seen[kind] <= READ_WHOLE
            group.create_task(measure(one.id, one.run_id, kind, whole=whole))
    return found


def seconds_of(history: WorkflowHistory, activity: str) -> list[float]:
    """Return how long each attempt of an activity took that completed."""
    scheduled = {
        event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    }
    started = {
        event.event_id: event.event_time.ToDatetime()
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    }
    seconds = []
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            done = event.activity_task_completed_event_attributes
            if scheduled[done.scheduled_event_id] == activity:
                seconds.append((event.event_time.ToDatetime() - started[done.started_event_id]).total_seconds())
    return seconds


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which that share of all lies, or at which it is reached."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _read(history: WorkflowHistory, of: Histories) -> None:
    of.largest_event = max(of.largest_event, *(event.ByteSize() for event in history.events))
    of.failures += sum(event.event_type in _FAILURES for event in history.events)
