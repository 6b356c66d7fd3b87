"""NodeRemovalRequests as a round writes them: created for machines that go, cancelled when a machine is wanted again.

A cancel and the removal's own workflow write in one order of events: each write is conditional on the version read.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from activities.kube.json_patch import patch_if_same, set_field
from activities.objects.record import UNKNOWN, removal_body
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODES, Cluster, Object, PatchOp
from activities.ports.errors import AlreadyExists, Conflict, NotFound
from api.keys import LABEL_REQUEST_UID
from api.v1alpha1.node_removal_request import CancelRecord, NodeRemovalRequestSpec, RemovalPhase
from planner.lifecycle.json_predicates import is_terminating
from planner.lifecycle.removal import BY_PLANNER
from planner.model.plan import PlannedRemoval

_REASON_CHARACTERS: Final = 512


async def create_removal(cluster: Cluster, planned: PlannedRemoval, node: Object | None) -> Object:
    """Create the NodeRemovalRequest, named after its server, and return it, or the one that exists.

    It learns from the `node` which request made the machine: names are given again, uids are not,
    and the server of a later machine must not go in its stead.

    Raises:
        NotFound: the node is gone or another one of that name: the cache is behind. Without this look, rounds
            would order the removal again and again until it has caught up.
    """
    # Live: the cache may still show a machine that is gone.
    if node is not None:
        live = await cluster.get(NODES, planned.node)
        if live["metadata"]["uid"] != node["metadata"]["uid"]:
            raise NotFound(f"Node {planned.node} is another one than the one that is to be removed")
    labels = {} if node is None else node["metadata"].get("labels") or {}
    spec = NodeRemovalRequestSpec(
        server_name=planned.server,
        node_name=planned.node,
        providerID=planned.provider_id,
        pool=planned.pool,
        server_type=planned.server_type or UNKNOWN,
        location=planned.location or UNKNOWN,
        class_ref=planned.class_ref,
        reason=planned.reason,
    )
    body = removal_body(spec, request_uid=labels.get(LABEL_REQUEST_UID))
    try:
        return await cluster.create(NODE_REMOVAL_REQUESTS, body)
    except AlreadyExists:
        return await cluster.get(NODE_REMOVAL_REQUESTS, planned.server)


async def cancel(cluster: Cluster, removal: Object, reason: str, now: datetime) -> Object:
    """Record on the removal that the planner cancels it, and return it.

    The point of no return is a write conditional on the version without this record, so one of the
    two is refused. Source: docs/design.md#removal.

    Raises:
        NotFound: it has ended.
        Conflict: it is past its point of no return, cancelled already, or being deleted.
    """
    if not can_cancel(removal):
        raise Conflict(f"removal {removal['metadata']['name']} is not in a cool-off or drain that can be cancelled")
    record = CancelRecord(at=now, by=BY_PLANNER, reason=reason[:_REASON_CHARACTERS]).to_json()

    def operations(read: Object) -> Sequence[PatchOp]:
        return set_field(read, ("status", "cancel"), record)

    return await patch_if_same(cluster, NODE_REMOVAL_REQUESTS, removal, operations, can_cancel, subresource="status")


def can_cancel(removal: Object) -> bool:
    """Return whether the removal is in a cool-off or drain that nobody has cancelled."""
    status = removal.get("status", {})
    return (
        RemovalPhase(status.get("phase", RemovalPhase.PENDING)).is_reversible
        and "cancel" not in status
        and not is_terminating(removal)
        and not removal.get("spec", {}).get("immediate", False)
    )
