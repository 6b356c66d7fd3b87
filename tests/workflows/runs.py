"""What Temporal keeps of a workflow: its runs one after another, how long each is, and the largest of its payloads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle

EVENTS_SUGGESTED = 4_096
"""Events of a run from which on Temporal suggests a new one: limit.historyCount.suggestContinueAsNew."""
EVENTS_WARNED = 10_240
"""Events of a run from which on Temporal warns: limit.historyCount.warn. It ends the run at 51,200."""
HISTORY_BYTES_WARNED = 10 * 1024 * 1024
"""limit.historySize.warn; the run is ended at 50 MiB."""
PAYLOAD_BYTES_WARNED = 256 * 1024
"""limit.blobSize.warn."""
PAYLOAD_BYTES_REFUSED = 2 * 1024 * 1024
"""limit.blobSize.error."""
SHOWN_BYTES = 4_096
"""Most that the current details of a workflow may take: `workflows.ui_details`."""
FOUND_BY_BYTES = 2_048
"""Most for one search attribute: limit.searchAttributesSizeOfValue."""


@dataclass(frozen=True)
class Run:
    """One run of a workflow."""

    run_id: str
    events: int
    bytes: int
    payload_bytes: int
    """Of its largest payload."""
    next_run_id: str
    """Of the run that goes on; empty for the one that runs."""


async def runs(client: Client, workflow_id: str, first_run_id: str) -> list[Run]:
    """Return all runs of a workflow from this one on, the one that still runs included."""
    all_runs: list[Run] = []
    run_id = first_run_id
    while run_id:
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        run = Run(
            run_id=run_id,
            events=len(history.events),
            bytes=sum(event.ByteSize() for event in history.events),
            payload_bytes=max(payload.ByteSize() for event in history.events for payload in payloads(event)),
            next_run_id=history.events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id,
        )
        all_runs.append(run)
        run_id = run.next_run_id
    return all_runs


def payloads(message: Message) -> Iterator[Payload]:
    """Yield all payloads within a message."""
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if isinstance(value, Message):
            parts: Any = (value,)
        else:
            parts = value.values() if descriptor.message_type.GetOptions().map_entry else value
        for part in parts:
            if isinstance(part, Message):
                yield from payloads(part)


async def shown_bytes(handle: WorkflowHandle) -> int:
    """Return the length of a workflow's current details."""
    return len((await handle.query("__temporal_workflow_metadata")).current_details.encode())


def found_by_bytes(shown: WorkflowExecutionDescription) -> int:
    """Return the length of the longest search attribute, in bytes."""
    fields = shown.raw_description.workflow_execution_info.search_attributes.indexed_fields
    return max(len(value.data) for value in fields.values())
