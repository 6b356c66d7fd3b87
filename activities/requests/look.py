"""The live look at a NodeRequest: its object, pool, class, server, Node and pods."""

from dataclasses import dataclass
from typing import Any

from activities.objects.definitions import are_going
from activities.objects.kinds import REQUESTS
from activities.objects.node_classes import class_status
from activities.objects.nodes import get_node, is_of, see_node
from activities.objects.pods import Seated, occupants_of, see_seats
from activities.objects.record import Record, read_record
from activities.objects.related import ServerLook, count_others, find_class, find_pool, request_timings, see_server
from activities.objects.simulated_classes import barrier_of
from activities.ports.cluster import NODE_REQUESTS, Object
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.ports.provider import Server
from activities.requests.held import is_unneeded, removal_held_for
from activities.requests.provider_id import why_another
from activities.requests.startup import has_been_tried, missing_on
from api.keys import LABEL_REQUEST_UID
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.clocks.deadlines import named_deadline, with_grace
from planner.lifecycle.clocks.future_times import request_as_of
from planner.lifecycle.json_predicates import is_terminating
from planner.lifecycle.seen import RequestObservation, ServerSeen
from planner.lifecycle.step import shortened
from planner.supply.unavailable import part_in_force, pause_in_force, unavailable_until

_WITH_SERVER = (RequestPhase.PROVISIONING, RequestPhase.READY)
"""The phases whose next step depends on what the provider says."""
_WITH_NODE = (*_WITH_SERVER, RequestPhase.DEPROVISIONING)
_UNSETTLED = (RequestPhase.PENDING, *_WITH_SERVER)
"""The phases in which planned pods may still come."""
_WITHOUT_BULK = {"events": (), "planned_allocatable": None}
"""The driver keeps what was seen in its history: the list of events would fill it."""


@dataclass(frozen=True, slots=True)
class RequestObjects:
    """A NodeRequest and what belongs to it, at one moment."""

    record: Record[NodeRequest]
    seen: RequestObservation
    pool: NodePool | None = None
    node_class: Object | None = None
    """Looked at before a server was asked for only."""
    node: Object | None = None
    untolerated: tuple[Object, ...] = ()
    """Planned pods that may not land on the reserved Node yet."""
    server_failure: GrowthError | None = None
    """Why its server is broken, as a refused create call would say it."""


async def look_at_request(ports: Ports, name: str, uid: str) -> RequestObjects | None:
    """Return the request with this uid, its class, server, Node and pods, or None when its lifecycle is over.

    Only what the next step may depend on is read: a provider allows few calls.

    Raises:
        Unreadable: a person broke the object.
        Unreachable: the API server does not answer.
    """
    record = await read_record(ports.cluster, REQUESTS, name, uid)
    if record is None:
        return None
    if record.is_deleting and await are_going(ports):
        return RequestObjects(record, see_request(ports, record, None).model_copy(update={"crds_going": True}))
    pool = await find_pool(ports.cluster, record.model.spec.pool)
    seen = see_request(ports, record, pool)
    phase = record.model.status.phase
    if phase is RequestPhase.PENDING:
        return await _before_the_server(ports, RequestObjects(record, seen, pool))
    if phase in _WITH_NODE:
        return await _with_node(ports, RequestObjects(record, seen, pool))
    return RequestObjects(record, seen, pool)


def see_request(ports: Ports, record: Record[NodeRequest], pool: NodePool | None) -> RequestObservation:
    """Return what the request alone says, with the durations of its pool."""
    request, now, timings = record.model, ports.now(), request_timings(pool)
    watched_for = ports.watched_for()
    watched_since = None if watched_for is None else now - watched_for
    status = request_as_of(request.status, now, request.metadata.creation_timestamp)
    return RequestObservation(
        deleting=record.is_deleting,
        pool=request.spec.pool,
        timings=timings,
        status=with_grace(status.model_copy(update=_WITHOUT_BULK), timings, watched_since),
        seats=len(request.spec.reserved_for),
        awaited=len(request.spec.reserved_for),
        named_deadline=named_deadline(status),
    )


async def _before_the_server(ports: Ports, observed: RequestObjects) -> RequestObjects:
    request = observed.record.model
    spec = request.spec
    node_class = await find_class(ports, spec.class_ref)
    is_asked = request.status.create_attempt_at is not None
    seen = observed.seen.model_copy(update={"unneeded": not is_asked and await is_unneeded(ports, request)})
    if node_class is not None:
        now = ports.now()
        status = class_status(node_class, now)
        left_out_until = unavailable_until(status.unavailable, spec.server_type, spec.location, now)
        pauses: dict[str, Any] = {"offering_unavailable_until": left_out_until}
        pause = pause_in_force(status.pause, now)
        part = part_in_force(status.partial_pauses, spec.server_type, spec.location, now)
        if pause is not None:
            pauses |= {"buying_paused_until": pause.until, "pause_message": pause.message}
        elif part is not None:
            pauses |= {
                "buying_paused_until": part.until,
                "pause_message": part.message,
                "refused_part": part.limit,
            }
        # A server that a call may have made already is found by the next one, and goes its way.
        if spec.class_ref.kind in ports.simulated.rules and not observed.record.model.status.attempts:
            pauses["class_barrier"] = await barrier_of(ports, node_class)
        seen = seen.model_copy(update=pauses)
    return RequestObjects(observed.record, seen, observed.pool, node_class)


async def _with_node(ports: Ports, observed: RequestObjects) -> RequestObjects:
    request = observed.record.model
    name, uid, status = observed.record.name, observed.record.uid, request.status
    server = ServerLook(ServerSeen.UNKNOWN)
    if status.phase in _WITH_SERVER:
        server = await see_server(ports, request.spec.class_ref, name, lambda server: is_server_of(ports, server, uid))
    node = await get_node(ports.cluster, name)
    namesake = ""
    if node is not None and not is_of(node, request_uid=uid, provider_id=status.provider_id):
        node, namesake = None, why_another(node, request_uid=uid, provider_id=status.provider_id)
    seated = Seated(observed.seen.awaited, ())
    missing = ""
    is_tried: bool | None = None
    bound = 0
    if node is not None and status.released_at is None and status.phase in _WITH_SERVER:
        seated = await see_seats(ports.cluster, ports.reader, request.spec.reserved_for, name)
    if node is not None and status.phase is RequestPhase.PROVISIONING:
        bound = len(await occupants_of(ports.cluster, name))
    is_kept = status.phase is RequestPhase.READY and status.released_at is None and seated.awaited
    if node is not None and (status.phase is RequestPhase.PROVISIONING or is_kept):
        missing = missing_on(node, observed.pool, status)
    if node is not None and is_kept and status.tried_at is None:
        is_tried = await has_been_tried(ports.cluster, request.spec.reserved_for, seated.awaited, node)
    unsettled = others = 0
    if status.phase is RequestPhase.PROVISIONING or (status.phase is RequestPhase.READY and status.released_at is None):
        others = await count_others(ports, NODE_REQUESTS, uid, _is_under_way)
    if node is not None and status.phase is RequestPhase.READY and status.released_at is None and not seated.awaited:
        unsettled = await _count_unsettled(ports, request.spec.pool, uid)
    held_by = await removal_held_for(ports, name) if node is not None and _is_reserved(request) else ""
    seen = observed.seen.model_copy(
        update={
            "server": server.seen,
            "server_progresses": server.is_progressing,
            "server_problem": shortened(server.problem),
            "node": None if node is None else see_node(node, name, missing),
            "namesake": shortened(namesake),
            "awaited": seated.awaited,
            "untolerated": len(seated.untolerated),
            "tried": is_tried,
            "bound": bound,
            "unsettled": unsettled,
            "held_by": held_by,
            # While it is kept for them, none of its pods is late.
            "named_deadline": None if held_by else observed.seen.named_deadline,
            "others": others,
        }
    )
    return RequestObjects(observed.record, seen, observed.pool, None, node, seated.untolerated, server.failure)


def _is_reserved(request: NodeRequest) -> bool:
    status = request.status
    return status.phase is RequestPhase.READY and status.released_at is None and bool(request.spec.reserved_for)


async def _count_unsettled(ports: Ports, pool: str, uid: str) -> int:
    """Return the number of other requests of the pool with planned pods on their way.

    Read from the cache: each of many machines asks, and an answer that is a moment old only delays.
    """
    requests = (await ports.reader.list(NODE_REQUESTS)).items
    return sum(
        one["metadata"]["uid"] != uid and one["spec"].get("pool") == pool and _awaits_pods(one) for one in requests
    )


def _awaits_pods(request: Object) -> bool:
    status = request.get("status") or {}
    return (
        bool(request["spec"].get("reservedFor"))
        and not is_terminating(request)
        and not status.get("settledAt")
        and _is_under_way(request)
    )


def _is_under_way(request: Object) -> bool:
    """Whether its machine is on its way, or kept for its pods."""
    status = request.get("status") or {}
    return status.get("phase", RequestPhase.PENDING) in _UNSETTLED and not status.get("releasedAt")


def is_server_of(ports: Ports, server: Server, request_uid: str) -> bool:
    """Return whether the server was made for the request with this uid, of this cluster.

    One without the cluster's uid, as an earlier version made it, is this request's by the request's.
    """
    is_named = server.labels.get(LABEL_REQUEST_UID) == request_uid
    return is_named and not ports.identity.is_namesake(server.labels)
