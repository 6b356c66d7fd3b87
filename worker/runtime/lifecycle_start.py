"""Starts the workflow of an object that has none: for the keeper, and for a person who replays."""

from typing import Any

from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError

from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.model.round import StartNote
from worker.settings import task_queue
from workflows.messages import start_attributes


async def start_lifecycle(
    client: Client, kind: LifecycleKind[Any], cluster: str, subject: ObjectId, note: StartNote
) -> bool:
    """Start a lifecycle from its object; return False if it runs already.

    Args:
        client: of the Temporal server.
        kind: of the lifecycle.
        cluster: where the object is.
        subject: the object.
        note: what people are told of it.

    Raises:
        RPCError: the server does not start it.
    """
    try:
        await client.start_workflow(
            kind.workflow,
            subject,
            id=kind.workflow_id(cluster, subject),
            task_queue=task_queue(cluster),
            static_summary=note.summary,
            static_details=note.details,
            search_attributes=start_attributes(cluster, subject, note),
        )
    except WorkflowAlreadyStartedError:
        return False
    return True
