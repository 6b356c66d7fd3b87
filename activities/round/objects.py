"""The objects that a round creates and deletes for machines to come and machines to go."""

import logging
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Final

from activities.objects.removal_body import UNKNOWN, removal_body
from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Cluster, Object
from activities.ports.errors import AlreadyExists, Conflict, NotFound
from activities.round.writes import RoundWrites
from api.keys import FINALIZER, LABEL_POOL, LABEL_REQUEST_UID, LABEL_SERVER_TYPE
from api.v1alpha1.node_removal_request import NodeRemovalRequestSpec
from api.v1alpha1.node_request import NodeRequestSpec, RequestPhase
from planner.model.plan import PlannedRemoval, PlannedRequest
from planner.model.round import RoundInput

_HASH_CHARACTERS: Final = 10
"""40 bits: two of a million names of one pool collide with a chance of less than one half; a collision is refused."""

log = logging.getLogger(__name__)


def request_name(round_input: RoundInput, planned: PlannedRequest) -> str:
    """Return the name of the request, server and Node: a DNS label of at most 51 characters.

    The same round of the same planner run names the same machine alike, so that a second execution
    of it finds the objects of the first. Source: docs/design.md#fence.
    """
    place = f"{round_input.run}/{round_input.round}/{planned.ordinal}"
    return f"{planned.pool}-{sha256(place.encode()).hexdigest()[:_HASH_CHARACTERS]}"


async def create_request(cluster: Cluster, name: str, planned: PlannedRequest, stuck: Collection[str]) -> Object:
    """Create the NodeRequest and return it.

    Pods in `stuck`, by uid, could not leave another reservation and get no seat here.

    Raises:
        AlreadyExists: this round was executed before, up to here.
        Rejected: the API server refuses it.
    """
    seats = tuple(seat for seat in planned.seats if seat.uid not in stuck) if planned.reserve else ()
    spec = NodeRequestSpec(
        pool=planned.pool,
        server_type=planned.server_type,
        location=planned.location,
        class_ref=planned.class_ref,
        reserved_for=seats,
    )
    owner = {
        "apiVersion": NODE_POOLS.api_version,
        "kind": NODE_POOLS.kind,
        "name": planned.pool,
        "uid": planned.pool_uid,
        "blockOwnerDeletion": False,
    }
    body = {
        "apiVersion": NODE_REQUESTS.api_version,
        "kind": NODE_REQUESTS.kind,
        "metadata": {
            "name": name,
            "labels": {LABEL_POOL: planned.pool, LABEL_SERVER_TYPE: planned.server_type},
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": spec.to_json(),
    }
    return await cluster.create(NODE_REQUESTS, body)


async def create_removal(cluster: Cluster, planned: PlannedRemoval, node: Object | None) -> Object:
    """Create the NodeRemovalRequest, named after its server, and return it, or the one that exists.

    It learns from the `node` which request made the machine: names are given again, uids are not,
    and the server of a later machine must not go in its stead.

    Raises:
        NotFound: the node is gone or another one of that name: the cache is behind. Without this look, rounds
            would order the removal again and again until it has caught up.
    """
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


async def delete_requests(writes: RoundWrites, cluster: Cluster, requests: Iterable[Object]) -> set[str]:
    """Cancel requests by deleting their objects, and return the names of those that are cancelled.

    A request that has got or asked for a server since it was read is left to the next round.
    """
    cancelled = await writes.each(
        requests,
        lambda request: f"deletion of request {request['metadata']['name']}",
        lambda request: _delete(cluster, request),
    )
    return {request["metadata"]["name"] for request, _ in cancelled}


async def _delete(cluster: Cluster, request: Object) -> bool:
    name, uid = request["metadata"]["name"], request["metadata"]["uid"]
    try:
        try:
            await _delete_version(cluster, request)
        except Conflict:
            live = await cluster.get(NODE_REQUESTS, name)
            if live["metadata"]["uid"] == uid and _course(live) == _course(request):
                await _delete_version(cluster, live)
            else:
                raise
    except NotFound:
        log.debug("request %s is gone already", name)
    return True


async def _delete_version(cluster: Cluster, request: Object) -> None:
    metadata = request["metadata"]
    await cluster.delete(
        NODE_REQUESTS, metadata["name"], uid=metadata["uid"], resource_version=metadata["resourceVersion"]
    )


def _course(request: Object) -> tuple[object, ...]:
    # The workflow's first write only says that it runs; these say how far it has come.
    status = request.get("status", {})
    return status.get("phase", RequestPhase.PENDING), status.get("createAttemptAt")
