"""NodeRequests as a round writes them: created for machines to buy, deleted when no pod needs them, seats moved.

A pod that moves leaves its old seat first. A round that dies in between leaves it without a seat,
which the next round sees and mends; two seats would keep a machine for nobody.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import NODE_POOLS, NODE_REQUESTS, Cluster, Object, PatchOp
from activities.ports.errors import Conflict, NotFound
from activities.round.fence import RoundWrites
from api.keys import FINALIZER, LABEL_POOL, LABEL_SERVER_TYPE, LABEL_STEP
from api.v1alpha1.node_request import NodeRequestSpec, RequestPhase, Seat
from planner.lifecycle.json_predicates import is_terminating
from planner.model.plan import Plan, PlannedRequest
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


async def create_request(
    cluster: Cluster, name: str, planned: PlannedRequest, stuck: Collection[str], step: str = ""
) -> Object:
    """Create the NodeRequest and return it.

    Pods in `stuck`, by uid, could not leave another reservation and get no seat here. `step` is the value of the label
    of one that replaces machines: it buys nothing unless a removal waits for it.

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
            "labels": {LABEL_POOL: planned.pool, LABEL_SERVER_TYPE: planned.server_type}
            | ({LABEL_STEP: step} if step else {}),
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": spec.to_json(),
    }
    return await cluster.create(NODE_REQUESTS, body)


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
    # A create call is written on the request before it is made: a request that asks for its server now is a Conflict.
    await cluster.delete(
        NODE_REQUESTS, metadata["name"], uid=metadata["uid"], resource_version=metadata["resourceVersion"]
    )


def _course(request: Object) -> tuple[object, ...]:
    # The workflow's first write only says that it runs; these say how far it has come.
    status = request.get("status", {})
    return status.get("phase", RequestPhase.PENDING), status.get("createAttemptAt")


async def move_seats(
    writes: RoundWrites, cluster: Cluster, plan: Plan, requests: Mapping[str, Object], stuck: Collection[str]
) -> frozenset[str]:
    """Write `plan.reservations` and return the uids of pods that could not leave their old seat.

    Such a pod must not be given another seat in this round; those in `stuck` are so already and are
    among the returned. `requests` are the objects that the plan was made from, by name.
    """
    current = {name: requests[name] for name in plan.reservations if name in requests}
    wanted = {name: plan.reservations[name] for name in current}
    taken = {seat.uid for planned in plan.requests for seat in planned.seats}
    for name, seats in wanted.items():
        taken |= {seat.uid for seat in seats} - _uids(current[name])

    # First the seats that pods leave for another machine, then all others: no pod ever holds two.
    leaving = [name for name in current if (_uids(current[name]) - _wanted_uids(wanted[name])) & taken]
    left = await writes.each(
        leaving, _write_name, lambda name: _write(cluster, current[name], _staying(current[name], wanted[name]))
    )
    current.update(left)
    gone = {name for name, _ in left}
    bound = set(stuck)
    for name in leaving:
        if name not in gone:
            bound |= (_uids(current[name]) - _wanted_uids(wanted[name])) & taken

    final = {
        name: [seat.to_json() for seat in seats if seat.uid not in bound or seat.uid in _uids(current[name])]
        for name, seats in wanted.items()
        if name not in leaving or name in gone
    }
    await writes.each(
        [name for name, seats in final.items() if seats != _seats(current[name])],
        _write_name,
        lambda name: _write(cluster, current[name], final[name]),
    )
    return frozenset(bound)


def _write_name(name: str) -> str:
    return f"reservation of request {name}"


def _seats(request: Object) -> list[Object]:
    return list(request.get("spec", {}).get("reservedFor", ()))


def _uids(request: Object) -> set[str]:
    return {seat["uid"] for seat in _seats(request)}


def _wanted_uids(seats: Sequence[Seat]) -> set[str]:
    return {seat.uid for seat in seats}


def _staying(request: Object, seats: Sequence[Seat]) -> list[Object]:
    wanted = _wanted_uids(seats)
    return [seat for seat in _seats(request) if seat["uid"] in wanted]


async def _write(cluster: Cluster, read: Object, seats: Sequence[Object]) -> Object:
    def operations(request: Object) -> list[PatchOp]:
        return set_field(request, ("spec", "reservedFor"), list(seats) or None)

    return await patch_if_same(
        cluster, NODE_REQUESTS, read, operations, lambda live: _decided_on(live) == _decided_on(read)
    )


def _decided_on(request: Object) -> tuple[object, ...]:
    # Its workflow writes the status all the time; only these parts speak for or against a seat.
    status = request.get("status", {})
    return (
        is_terminating(request),
        _seats(request),
        status.get("phase", RequestPhase.PENDING),
        status.get("releasedAt"),
    )
