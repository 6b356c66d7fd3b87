"""Orders the removal of a request's server: the only way in which a request ever gets rid of one.

The removal outlives the request and is the server's sole deleter. Source: docs/design.md#hand-over.
"""

from activities.objects.kinds import REMOVALS
from activities.objects.record import Record, as_record, removal_body, write_status
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, Object, find_object
from activities.ports.errors import AlreadyExists, Conflict
from activities.ports.ports import Ports
from api.keys import LABEL_REQUEST_UID
from api.v1alpha1.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec, RemovalPhase
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.decision import decision_on
from planner.lifecycle.request import BELIEVE_ABSENCE_AFTER
from planner.lifecycle.step import DecisionKind


async def order_removal(ports: Ports, request: NodeRequest) -> None:
    """See to it that a removal exists which will certainly delete the request's server.

    One that exists for this server already, made by the planner or by hand, is moved past its point
    of no return.

    Raises:
        Conflict: the one that exists is cancelled, or another machine's, or began too early to know
            when the server was asked for: it has to end first.
        Rejected: the API server refuses the removal.
    """
    name = request.metadata.name
    try:
        await ports.cluster.create(NODE_REMOVAL_REQUESTS, _body(request))
    except AlreadyExists:
        existing = await _find(ports, name)
        if existing is None:
            raise Conflict(f"NodeRemovalRequest {name} ended just now: order it again") from None
        await _make_certain(ports, existing, request)


async def is_ordered(ports: Ports, request: NodeRequest) -> bool:
    """Return whether a removal of the request's server is past the point at which it could be stopped."""
    removal = await _find(ports, request.metadata.name)
    if removal is None or _is_of_earlier(removal, request):
        return False
    return removal.model.spec.immediate or not removal.model.status.phase.is_reversible


async def _find(ports: Ports, name: str) -> Record[NodeRemovalRequest] | None:
    removal = await find_object(ports.cluster, NODE_REMOVAL_REQUESTS, name)
    return None if removal is None else as_record(REMOVALS, removal)


def _is_of_earlier(removal: Record[NodeRemovalRequest], request: NodeRequest) -> bool:
    return _labelled(removal) not in (None, request.metadata.uid)


def _labelled(removal: Record[NodeRemovalRequest]) -> str | None:
    return removal.model.metadata.labels.get(LABEL_REQUEST_UID)


async def _make_certain(ports: Ports, removal: Record[NodeRemovalRequest], request: NodeRequest) -> None:
    name = removal.name
    model = removal.model
    if _labelled(removal) == request.metadata.uid and model.spec.immediate:
        # The request's own order, made before its worker was killed.
        return
    if _is_of_earlier(removal, request):
        raise Conflict(f"NodeRemovalRequest {name} is about an earlier machine of that name: it has to end first")
    asked_at = request.status.create_attempt_at
    if model.spec.create_attempt_at is None and asked_at is not None and ports.now() < asked_at + BELIEVE_ABSENCE_AFTER:
        # It would believe an absence that is no proof yet, and end before the server appears.
        raise Conflict(
            f"NodeRemovalRequest {name} does not know when its server was asked for: wait until the answer is certain"
        )
    if model.spec.immediate or not model.status.phase.is_reversible:
        return
    wanted = decision_on(model.metadata.annotations)
    is_unwanted = wanted is not None and wanted.kind is DecisionKind.CANCEL
    if model.status.cancel is not None or removal.is_deleting or is_unwanted:
        raise Conflict(f"NodeRemovalRequest {name} is being cancelled: it has to end first")
    # Conditional on the version that showed no cancel: of this write and a cancel, the later one is refused.
    await write_status(
        ports.cluster,
        removal,
        now=ports.now(),
        event="HandOver",
        because=f"Its request gave the machine up: {request.status.reason}",
        phase=RemovalPhase.DEPROVISIONING,
        reason="HandOver",
        message=request.status.message,
    )


def _body(request: NodeRequest) -> Object:
    metadata, spec, status = request.metadata, request.spec, request.status
    removal = NodeRemovalRequestSpec(
        server_name=metadata.name,
        node_name=status.node_name,
        providerID=status.provider_id,
        pool=spec.pool,
        server_type=spec.server_type,
        location=spec.location,
        class_ref=spec.class_ref,
        reason=status.reason or "HandOver",
        immediate=True,
        create_attempt_at=status.create_attempt_at,
    )
    return removal_body(removal, request_uid=metadata.uid)
