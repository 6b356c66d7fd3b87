"""Tells a pool that a machine which it asked for does not come."""

from typing import Final

from activities.objects.events import Recorder
from activities.objects.record import Record
from activities.ports.cluster import NODE_POOLS
from api.v1alpha1.node_request import NodeRequest
from planner.model.plan import PlannedEvent

SCALE_UP_FAILED: Final = "ScaleUpFailed"
"""Reason of the event. Source: VPSie's scaling events."""


async def tell_scale_up_failed(recorder: Recorder, record: Record[NodeRequest], reason: str, message: str) -> None:
    """Tell the event on the pool of a request, each reason at most once in five minutes; the request has its own.

    A request that no round has made has no pool among its owners: there is nobody to tell. Never raises.
    """
    request = record.model
    owner = next((one for one in request.metadata.owner_references if one.kind == NODE_POOLS.kind), None)
    if owner is None:
        return
    spec = request.spec
    sentence = f"{record.name}, a {spec.server_type} in {spec.location}, does not come: {reason}: {message}"
    await recorder.tell(
        PlannedEvent(
            kind=owner.kind,
            name=owner.name,
            namespace=None,
            uid=owner.uid,
            reason=SCALE_UP_FAILED,
            message=sentence,
            warning=True,
            # Of many machines that fail for one reason, the first one tells of it.
            machine=reason,
        )
    )
