"""Cancels of removals that somebody else than their own workflow decides: a round, or another removal of their step.

A cancel and the removal's own workflow write in one order of events: each write is conditional on the version read.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Cluster, Object, PatchOp
from activities.ports.errors import Conflict
from api.v1alpha1.node_removal_request import CancelRecord, RemovalPhase
from planner.lifecycle.json_predicates import is_terminating

_REASON_CHARACTERS: Final = 512
BY_ROUND: Final = "Planner"


async def cancel(cluster: Cluster, removal: Object, reason: str, now: datetime, *, by: str = BY_ROUND) -> Object:
    """Record on the removal that it is cancelled, by the planner or by what was seen, and return it.

    The point of no return is a write conditional on the version without this record, so one of the
    two is refused. Source: docs/design.md#removal.

    Raises:
        NotFound: it has ended.
        Conflict: it is past its point of no return, cancelled already, or being deleted.
    """
    if not can_cancel(removal):
        raise Conflict(f"removal {removal['metadata']['name']} is not in a cool-off or drain that can be cancelled")
    record = CancelRecord(at=now, by=by, reason=reason[:_REASON_CHARACTERS]).to_json()

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
