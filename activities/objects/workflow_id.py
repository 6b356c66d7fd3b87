"""Says on an object that a workflow drives it, so that rounds do not ask for another start of it.

Source: docs/design.md#healing: an object without `status.workflowId` gets a workflow at once.
"""

import logging
from typing import Any

from activities.kube.json_patch import guarded, set_field
from activities.objects.record import Record
from activities.ports.cluster import NODE_REQUESTS
from activities.ports.errors import Conflict, GrowthError, NotFound
from activities.ports.ports import Ports
from planner.model.round import ObjectId, removal_workflow_id, request_workflow_id

log = logging.getLogger(__name__)


async def note_driver(ports: Ports, record: Record[Any]) -> None:
    """Write the id of the object's workflow on it if it has none yet. Never raises: the next look writes it."""
    if record.model.status.workflow_id:
        return
    name_of = request_workflow_id if record.resource == NODE_REQUESTS else removal_workflow_id
    workflow_id = name_of(ports.cluster_name, ObjectId(name=record.name, uid=record.uid))
    operations = guarded(record.object, set_field(record.object, ("status", "workflowId"), workflow_id))
    try:
        await ports.cluster.patch(record.resource, record.name, operations, subresource="status")
    except (Conflict, NotFound):
        log.debug("%s changed while its workflow was noted", record.name)
    except GrowthError as error:
        log.warning("the workflow of %s was not noted: %s", record.name, error)
