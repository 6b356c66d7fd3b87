"""Starts the workflow of an object that has none: for the keeper, and for a person who replays."""

from temporalio.client import Client
from temporalio.exceptions import WorkflowAlreadyStartedError

from planner.model.round import ObjectId, StartNote, cluster_of
from worker.settings import task_queue
from workflows.messages import start_attributes


async def start_lifecycle(client: Client, kind: str, workflow_id: str, subject: ObjectId, note: StartNote) -> bool:
    """Start a lifecycle from its object; return False if it runs already.

    Args:
        client: of the Temporal server.
        kind: type of the workflow.
        workflow_id: its id, which names the cluster.
        subject: the object.
        note: what people are told of it.

    Raises:
        RPCError: the server does not start it.
    """
    cluster = cluster_of(workflow_id)
    try:
        await client.start_workflow(
            kind,
            subject,
            id=workflow_id,
            task_queue=task_queue(cluster),
            static_summary=note.summary,
            static_details=note.details,
            search_attributes=start_attributes(cluster, subject, note),
        )
    except WorkflowAlreadyStartedError:
        return False
    return True
